//! TLS set-up for `wss` and `https`: certificates, keys, and what a client trusts. Does no connection input or output.

use base64::prelude::{Engine, BASE64_STANDARD as BASE64};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme,
};
use std::net::SocketAddr;
use std::sync::Arc;

/// Where Debian and its relatives keep the certificates that the system trusts.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// What a server shows of itself, and the key to it.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// From PEM files, or self-signed for `names` if no files are given.
    pub fn new(files: Option<(&str, &str)>, names: Vec<String>) -> Result<Identity, String> {
        let (chain, key) = match files {
            Some((cert, key)) => (
                read_certificates(cert)?,
                PrivateKeyDer::from_pem_file(key)
                    .map_err(|e| format!("--key {key}: no private key in PEM: {e}"))?,
            ),
            None => {
                let made = rcgen::generate_simple_self_signed(names)
                    .map_err(|e| format!("cannot make a self-signed certificate: {e}"))?;
                let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
                (vec![made.cert.der().clone()], PrivateKeyDer::from(key))
            }
        };
        Ok(Identity { chain, key })
    }

    /// That of a server which listens there: from its files, or self-signed for its address.
    pub fn of_server(files: Option<&(String, String)>, listen: SocketAddr) -> Result<Identity, String> {
        let files = files.map(|(cert, key)| (cert.as_str(), key.as_str()));
        Identity::new(files, vec![listen.ip().to_string(), "localhost".into()])
    }

    /// The certificate chain as a PEM file, for clients that are to trust it.
    pub fn pem(&self) -> String {
        self.chain.iter().map(|each| pem("CERTIFICATE", each)).collect()
    }

    /// The private key as a PEM file, for another program that is to be this server.
    pub fn key_pem(&self) -> String {
        pem("PRIVATE KEY", self.key.secret_der())
    }

    pub fn into_config(self) -> Result<Arc<ServerConfig>, String> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key)
            .map_err(|e| format!("certificate and key do not go together: {e}"))?;
        Ok(Arc::new(config))
    }
}

fn pem(what: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {what}-----\n");
    for line in BASE64.encode(der).as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text.push_str(&format!("-----END {what}-----\n"));
    text
}

/// A server's side of a new connection.
pub fn server(config: &Arc<ServerConfig>) -> Result<Connection, String> {
    let connection = ServerConnection::new(config.clone()).map_err(|e| e.to_string())?;
    Ok(Connection::Server(connection))
}

/// A client's side of a new connection to `host`, a name or an address.
pub fn client(config: &Arc<ClientConfig>, host: &str) -> Result<Connection, String> {
    let name = ServerName::try_from(host.to_owned()).map_err(|e| format!("{host}: {e}"))?;
    let connection = ClientConnection::new(config.clone(), name).map_err(|e| e.to_string())?;
    Ok(Connection::Client(connection))
}

/// Trusts anything (`insecure`), the certificates of `ca`, or those of the system.
pub fn client_config(insecure: bool, ca: Option<&str>) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    let config = if insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAnything(provider)))
            .with_no_client_auth()
    } else {
        let mut roots = RootCertStore::empty();
        for certificate in read_certificates(ca.unwrap_or(SYSTEM_ROOTS))? {
            // Roots of a system that this library cannot use are left out; an own file must be usable.
            if let (Err(e), Some(file)) = (roots.add(certificate), ca) {
                return Err(format!("--ca {file}: {e}"));
            }
        }
        builder.with_root_certificates(roots).with_no_client_auth()
    };
    Ok(Arc::new(config))
}

fn read_certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Vec<_> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<_, _>>)
        .map_err(|e| format!("{file}: no certificates in PEM: {e}"))?;
    if certificates.is_empty() {
        return Err(format!("{file}: no certificates in PEM"));
    }
    Ok(certificates)
}

/// `--insecure`: the peer's identity is not checked, its signatures are.
#[derive(Debug)]
struct TrustAnything(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnything {
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
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
