// SPDX-License-Identifier: Apache-2.0

// A transfer by quic-go: the client requests a number of bytes on a stream, and the server sends that many zeros. On a
// second stream the client requests the counts of the server's loss detection, and prints them.
//
// If SSLKEYLOGFILE is set in the environment, the client writes TLS keys there. If QLOGDIR is set, both ends write a
// qlog there.
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
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

const (
	protocol   = "transfer"
	statistics = "statistics"
)

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
	listener, err := quic.ListenAddr("0.0.0.0:"+port, settings, &quic.Config{Tracer: tracer})
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		// Until the client closes the connection
		for {
			stream, err := connection.AcceptStream(context.Background())
			if err != nil {
				break
			}
			if err := answer(connection, stream); err != nil {
				return err
			}
		}
	}
}

func answer(connection *quic.Conn, stream *quic.Stream) error {
	request, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	if string(request) == statistics {
		counts := connection.ConnectionStats()
		_, err := fmt.Fprintf(stream, `{"sent_pkts": %d, "declared_lost_pkts": %d, "found_spurious_pkts": %s}`,
			counts.PacketsSent, counts.PacketsLost, foundSpurious())
		if err != nil {
			return err
		}
		return stream.Close()
	}
	count, err := strconv.ParseInt(string(request), 10, 64)
	if err != nil {
		return err
	}
	piece := make([]byte, 65536)
	for ; count > 0; count -= int64(len(piece)) {
		if _, err := stream.Write(piece[:min(count, int64(len(piece)))]); err != nil {
			return err
		}
	}
	return stream.Close()
}

func fetch(address string, count int64) error {
	began := time.Now()
	// The server makes its certificate at its start, so the client cannot verify it.
	settings := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	if name := os.Getenv("SSLKEYLOGFILE"); name != "" {
		keys, err := os.Create(name)
		if err != nil {
			return err
		}
		defer keys.Close()
		settings.KeyLogWriter = keys
	}
	configuration := &quic.Config{Tracer: qlog.DefaultConnectionTracer}
	connection, err := quic.DialAddr(context.Background(), address, settings, configuration)
	if err != nil {
		return err
	}
	stream, err := ask(connection, strconv.FormatInt(count, 10))
	if err != nil {
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
	if stream, err = ask(connection, statistics); err != nil {
		return err
	}
	counts, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	fmt.Println(string(counts))
	return connection.CloseWithError(0, "")
}

// ask opens a stream with a request; reading the stream gives the answer.
func ask(connection *quic.Conn, request string) (*quic.Stream, error) {
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(stream, request); err != nil {
		return nil, err
	}
	return stream, stream.Close()
}

// spurious counts the packets that were acknowledged after they had been declared lost.
var spurious atomic.Int64

// tracer is quic-go's own if QLOGDIR is set; otherwise it counts.
func tracer(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	if os.Getenv("QLOGDIR") != "" {
		return qlog.DefaultConnectionTracer(ctx, isClient, id)
	}
	return counter{}
}

// foundSpurious is null if a qlog is written, because the events are counted there.
func foundSpurious() string {
	if os.Getenv("QLOGDIR") != "" {
		return "null"
	}
	return strconv.FormatInt(spurious.Load(), 10)
}

type counter struct{}

func (counter) AddProducer() qlogwriter.Recorder   { return counter{} }
func (counter) SupportsSchemas(schema string) bool { return schema == qlog.EventSchema }
func (counter) Close() error                       { return nil }
func (counter) RecordEvent(event qlogwriter.Event) {
	if _, is := event.(qlog.SpuriousLoss); is {
		spurious.Add(1)
	}
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
