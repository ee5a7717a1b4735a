// SPDX-License-Identifier: Apache-2.0
//! A transfer by quinn: the client requests a number of bytes on a stream. The server sends this number of zeros. On a
//! second stream the client requests the counts of the server's loss detection, and prints them.
//!
//! If the environment variable SSLKEYLOGFILE is set, the client writes its TLS keys to the file of that name. If
//! QLOGDIR is set, both ends write a qlog into the directory that it names.
//!
//! quinn-transfer server PORT
//! quinn-transfer client HOST PORT BYTES

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, QlogConfig, ServerConfig, TransportConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, KeyLogFile, SignatureScheme};
use std::fs::File;
use std::net::{Ipv4Addr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PROTOCOL: &[u8] = b"transfer";
const STATISTICS: &str = "statistics";

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // One thread, because the guest has one processor.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["server", port] => runtime.block_on(serve(port.parse()?)),
        ["client", host, port, bytes] => runtime.block_on(fetch(host, port.parse()?, bytes.parse()?)),
        _ => Err("usage: quinn-transfer server PORT | client HOST PORT BYTES".into()),
    }
}

async fn serve(port: u16) -> Outcome {
    let own = rcgen::generate_simple_self_signed(["b".to_string()])?;
    let key = PrivateKeyDer::try_from(own.key_pair.serialize_der())?;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut settings = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    settings.transport_config(transport("server")?);
    let endpoint = Endpoint::server(settings, (Ipv4Addr::UNSPECIFIED, port).into())?;
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        // The loop ends when the client closes the connection
        while let Ok((mut send, mut receive)) = connection.accept_bi().await {
            let request = String::from_utf8(receive.read_to_end(32).await?)?;
            if request == STATISTICS {
                let path = connection.stats().path;
                // quinn does not report spurious losses.
                let answer = format!(
                    "{{\"sent_pkts\": {}, \"declared_lost_pkts\": {}, \"found_spurious_pkts\": null}}",
                    path.sent_packets, path.lost_packets
                );
                send.write_all(answer.as_bytes()).await?;
            } else {
                let mut count: usize = request.parse()?;
                let piece = [0; 65536];
                while count > 0 {
                    let now = count.min(piece.len());
                    send.write_all(&piece[..now]).await?;
                    count -= now;
                }
            }
            send.finish()?;
        }
    }
    Ok(())
}

async fn fetch(host: &str, port: u16, count: usize) -> Outcome {
    let began = Instant::now();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(MadeAtStart))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.key_log = Arc::new(KeyLogFile::new());
    let mut settings = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    settings.transport_config(transport("client")?);
    let mut endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    endpoint.set_default_client_config(settings);
    let address = (host, port).to_socket_addrs()?.next().ok_or("the host has no address")?;
    let connection = endpoint.connect(address, "b")?.await?;
    let received = ask(&connection, &count.to_string()).await?.len();
    if received != count {
        return Err(format!("{received} bytes of {count} have arrived").into());
    }
    println!("{received} bytes in {:.6} s", began.elapsed().as_secs_f64());
    println!("{}", String::from_utf8(ask(&connection, STATISTICS).await?)?);
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// The answer to a request.
async fn ask(connection: &Connection, request: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(request.as_bytes()).await?;
    send.finish()?;
    let mut answer = Vec::new();
    while let Some(piece) = receive.read_chunk(usize::MAX, true).await? {
        answer.extend_from_slice(&piece.bytes);
    }
    Ok(answer)
}

/// Returns quinn's default transport settings, with a qlog if QLOGDIR is set.
fn transport(end: &str) -> Result<Arc<TransportConfig>, Box<dyn std::error::Error>> {
    let mut settings = TransportConfig::default();
    if let Some(folder) = std::env::var_os("QLOGDIR") {
        std::fs::create_dir_all(&folder)?;
        let file = File::create(std::path::Path::new(&folder).join(format!("quinn-{end}.sqlog")))?;
        let mut log = QlogConfig::default();
        log.writer(Box::new(std::io::BufWriter::new(file)));
        settings.qlog_stream(log.into_stream());
    }
    Ok(Arc::new(settings))
}

/// The server makes its certificate at its start, so the client cannot verify it.
#[derive(Debug)]
struct MadeAtStart;

impl ServerCertVerifier for MadeAtStart {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
