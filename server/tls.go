// This file owns TLS: what the tls-* directives say of certificates, clients and
// protocols, and the handshake before a connection is admitted. It must not know
// sessions' insides.

package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/youmark/pkcs8"
)

// TLSSettings are the tls-* directives.
type TLSSettings struct {
	CertFile, KeyFile string
	KeyPass           string // of the key's file, "" where that is not encrypted
	CAFile, CADir     string
	// AuthClients is whether clients must show a certificate: yes, no, optional.
	AuthClients string
	// Protocols and Ciphers are lists as OpenSSL names them, "" for Go's defaults.
	Protocols, Ciphers string
}

// config is what a TLS listener needs. Files are read now.
func (t *TLSSettings) config() (*tls.Config, error) {
	if t.CertFile == "" || t.KeyFile == "" {
		return nil, errors.New("tls-cert-file and tls-key-file must be given for tls-port")
	}
	pair, err := t.pair()
	if err != nil {
		return nil, fmt.Errorf("loading tls-cert-file and tls-key-file: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if err := t.authority(c); err != nil {
		return nil, err
	}
	if err := t.versions(c); err != nil {
		return nil, err
	}
	return c, t.cipherSuites(c)
}

// pair reads the certificate and its key.
func (t *TLSSettings) pair() (tls.Certificate, error) {
	certificate, err := os.ReadFile(t.CertFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := os.ReadFile(t.KeyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	if key, err = decrypted(key, t.KeyPass); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}

// decrypted is a key file without its passphrase.
func decrypted(text []byte, pass string) ([]byte, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "ENCRYPTED PRIVATE KEY" {
		return text, nil
	}
	if pass == "" {
		return nil, errors.New("the key is encrypted: tls-key-file-pass must be given")
	}
	key, err := pkcs8.ParsePKCS8PrivateKey(block.Bytes, []byte(pass))
	if err != nil {
		return nil, fmt.Errorf("decrypting the key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// authority says by whom clients' certificates must be signed.
func (t *TLSSettings) authority(c *tls.Config) error {
	c.ClientAuth = map[string]tls.ClientAuthType{
		"yes": tls.RequireAndVerifyClientCert, "no": tls.NoClientCert, "optional": tls.VerifyClientCertIfGiven,
	}[t.AuthClients]
	if c.ClientAuth == tls.NoClientCert {
		return nil
	}
	files := []string{t.CAFile}
	if t.CAFile == "" {
		files = nil
	}
	if t.CADir != "" {
		found, err := filepath.Glob(filepath.Join(t.CADir, "*"))
		if err != nil {
			return fmt.Errorf("reading tls-ca-cert-dir: %w", err)
		}
		files = append(files, found...)
	}
	c.ClientCAs = x509.NewCertPool()
	known := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading an authority's certificate: %w", err)
		}
		known = c.ClientCAs.AppendCertsFromPEM(text) || known
	}
	if !known {
		return errors.New("tls-ca-cert-file or tls-ca-cert-dir must hold a certificate, or tls-auth-clients be no")
	}
	return nil
}

// tlsVersions are the names of protocols, from the oldest on.
var tlsVersions = []struct {
	name    string
	version uint16
}{{"TLSv1", tls.VersionTLS10}, {"TLSv1.1", tls.VersionTLS11}, {"TLSv1.2", tls.VersionTLS12}, {"TLSv1.3", tls.VersionTLS13}}

// versions reads tls-protocols. What lies between two that are named is spoken too.
func (t *TLSSettings) versions(c *tls.Config) error {
	for _, word := range strings.Fields(t.Protocols) {
		version := uint16(0)
		for _, known := range tlsVersions {
			if strings.EqualFold(word, known.name) {
				version = known.version
			}
		}
		if version == 0 {
			return fmt.Errorf("tls-protocols names %q; known are TLSv1 to TLSv1.3", word)
		}
		if c.MaxVersion == 0 || version < c.MinVersion {
			c.MinVersion = version
		}
		c.MaxVersion = max(c.MaxVersion, version)
	}
	return nil
}

// cipherSuites reads tls-ciphers: suites up to TLS 1.2, by the names of OpenSSL or
// the standard's. Those of TLS 1.3 cannot be chosen.
func (t *TLSSettings) cipherSuites(c *tls.Config) error {
	if t.Ciphers == "" {
		return nil
	}
	for _, word := range strings.FieldsFunc(t.Ciphers, func(r rune) bool { return r == ':' || r == ' ' || r == ',' }) {
		at := slices.IndexFunc(tls.CipherSuites(), func(s *tls.CipherSuite) bool { return s.Name == word || openSSLName(s.Name) == word })
		if at < 0 {
			return fmt.Errorf("tls-ciphers names %q, which is no suite that can be chosen here", word)
		}
		c.CipherSuites = append(c.CipherSuites, tls.CipherSuites()[at].ID)
	}
	return nil
}

// openSSLName is OpenSSL's name of a suite.
func openSSLName(standard string) string {
	name := strings.TrimPrefix(standard, "TLS_")
	name = strings.Replace(name, "_WITH_", "_", 1)
	name = strings.NewReplacer("AES_128", "AES128", "AES_256", "AES256", "_CBC_", "_", "CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").Replace(name)
	return strings.ReplaceAll(strings.TrimPrefix(name, "RSA_"), "_", "-")
}

// handshakeTimeout is how long a client has to shake hands.
const handshakeTimeout = 10 * time.Second

// secure shakes hands with a connection of a TLS listener, beside the accepting, and
// admits it. Handshakes under way count towards maxclients.
func (s *Server) secure(conn net.Conn) {
	if s.handshakes.Add(1) > int64(s.settings().MaxClients) {
		s.handshakes.Add(-1)
		s.stats.rejected.Add(1)
		_ = conn.Close()
		return
	}
	s.accepting.Go(func() {
		defer s.handshakes.Add(-1)
		secured := tls.Server(conn, s.tls.Load())
		ctx, cancel := context.WithTimeout(s.handshaking, handshakeTimeout)
		defer cancel()
		if err := secured.HandshakeContext(ctx); err != nil {
			s.log.Debug("a TLS handshake failed", "addr", conn.RemoteAddr().String(), "error", err)
			_ = conn.Close()
			return
		}
		s.admit(secured)
	})
}

// loadTLS makes what the settings say of TLS what new connections get.
func (s *Server) loadTLS(settings *Settings) error {
	if settings.TLSPort == 0 {
		return nil
	}
	config, err := settings.TLS.config()
	if err != nil {
		s.log.Error("TLS is not as it should be", "error", err)
		return err
	}
	s.tls.Store(config)
	return nil
}
