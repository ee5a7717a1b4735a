// SPDX-License-Identifier: Apache-2.0

// A transfer by quic-go: the client asks for bytes on a stream, and the server sends as many zeros.
//
//	quic-go-transfer server PORT
//	quic-go-transfer client HOST PORT BYTES
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

const protocol = "transfer"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 2 && arguments[0] == "server" {
		return serve(arguments[1])
	}
	if len(arguments) == 4 && arguments[0] == "client" {
		count, err := strconv.ParseInt(arguments[3], 10, 64)
		if err != nil {
			return err
		}
		return fetch(arguments[1]+":"+arguments[2], count)
	}
	return fmt.Errorf("usage: quic-go-transfer server PORT | client HOST PORT BYTES")
}

func serve(port string) error {
	certificate, err := ownCertificate()
	if err != nil {
		return err
	}
	settings := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr("0.0.0.0:"+port, settings, nil)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			return err
		}
		wanted, err := io.ReadAll(stream)
		if err != nil {
			return err
		}
		count, err := strconv.ParseInt(string(wanted), 10, 64)
		if err != nil {
			return err
		}
		piece := make([]byte, 65536)
		for ; count > 0; count -= int64(len(piece)) {
			if _, err := stream.Write(piece[:min(count, int64(len(piece)))]); err != nil {
				return err
			}
		}
		if err := stream.Close(); err != nil {
			return err
		}
	}
}

func fetch(address string, count int64) error {
	began := time.Now()
	// The certificate is made as the server starts: there is nothing to hold it against
	settings := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), address, settings, nil)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(stream, count); err != nil {
		return err
	}
	if err := stream.Close(); err != nil {
		return err
	}
	received, err := io.Copy(io.Discard, stream)
	if err != nil {
		return err
	}
	if received != count {
		return fmt.Errorf("%d bytes of %d have arrived", received, count)
	}
	fmt.Printf("%d bytes in %.6f s\n", received, time.Since(began).Seconds())
	return connection.CloseWithError(0, "")
}

func ownCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, nil
}
