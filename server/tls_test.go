package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/youmark/pkcs8"
)

// This file shows TLS over sockets: who gets in, who does not, and that a peer that
// never shakes hands holds up nobody.

// authority signs the certificates of a test.
type authority struct {
	*testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{T: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("authority", true)
	return a
}

// sign makes a certificate, self-signed for the authority itself, in files.
func (a *authority) sign(name string, own bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: own, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := a.cert, a.key
	if own {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.Fatal(err)
	}
	a.write(name+".crt", "CERTIFICATE", der)
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	a.write(name+".key", "EC PRIVATE KEY", private)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return cert, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(name, kind string, der []byte) {
	a.Helper()
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.Fatal(err)
	}
}

// client is what a client of the authority dials with; name is its certificate, ""
// for none.
func (a *authority) client(name string) *tls.Config {
	a.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	c.RootCAs.AddCert(a.cert)
	if name != "" {
		pair, err := tls.LoadX509KeyPair(a.file(name+".crt"), a.file(name+".key"))
		if err != nil {
			a.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

// answers says whether a client is served over TLS.
func answers(t *testing.T, addr string, c *tls.Config) bool {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, c)
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	reply := make([]byte, len("+PONG\r\n"))
	_, err = io.ReadFull(conn, reply)
	return err == nil && string(reply) == "+PONG\r\n"
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", false)
	a.sign("client", false)
	plain, secure := freePort(t), freePort(t)
	s, config := listening(t, "--port", plain, "--tls-port", secure, "--bind", "127.0.0.1", "--tls-cert-file", a.file("server.crt"),
		"--tls-key-file", a.file("server.key"), "--tls-ca-cert-file", a.file("authority.crt"))
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + secure
	silent, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if !answers(t, addr, a.client("client")) || answers(t, addr, a.client("")) || !pings(t, "tcp", "127.0.0.1:"+plain) {
		t.Error("a certificate is not what decides who is served")
	}
	if err := config.Set([]string{"tls-auth-clients", "optional"}, true); err != nil {
		t.Fatal(err)
	}
	stranger := newAuthority(t)
	stranger.sign("client", false)
	foreign := a.client("")
	foreign.Certificates = stranger.client("client").Certificates
	if !answers(t, addr, a.client("")) || answers(t, addr, foreign) {
		t.Error("optional: without a certificate is in, with a foreign one is not")
	}
	if err := config.Set([]string{"tls-auth-clients", "no", "tls-protocols", "TLSv1.3"}, true); err != nil {
		t.Fatal(err)
	}
	old := a.client("")
	old.MaxVersion = tls.VersionTLS12
	if answers(t, addr, old) || !answers(t, addr, a.client("")) {
		t.Error("tls-protocols does not decide what is spoken")
	}
	if err := config.Set([]string{"tls-cert-file", a.file("nothing")}, true); err == nil || !strings.HasSuffix(err.Error(), "Unable to update TLS configuration. Check server logs.") {
		t.Errorf("a certificate that is not there: %v", err)
	}
	if !answers(t, addr, a.client("")) {
		t.Error("a refused change has closed the door")
	}
	if err := config.Set([]string{"tls-port", "0"}, true); err != nil || answers(t, addr, a.client("")) {
		t.Errorf("the port is still open, or %v", err)
	}
}

// A reply larger than any buffer, and a pipeline, pass whole.
func TestTLSCarriesMuch(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", false)
	h := newHosted(t, "--tls-port", "1", "--tls-auth-clients", "no", "--tls-cert-file", a.file("server.crt"), "--tls-key-file", a.file("server.key"))
	if err := h.server.loadTLS(h.config.Settings()); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := h.server.newListener(ln, address{ln.Addr().String(), true})
	if err := h.server.serve([]*listener{l}); err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", ln.Addr().String(), a.client(""))
	if err != nil {
		t.Fatal(err)
	}
	c := h.client(conn)
	value := strings.Repeat("0123456789abcdef", 1<<16)
	const gets = 20
	c.sendAside(request("SET", "k", value) + strings.Repeat(request("GET", "k"), gets))
	c.expect("+OK\r\n" + strings.Repeat("$1048576\r\n"+value+"\r\n", gets))
	c.asks("+OK", "CLIENT", "SETNAME", "secure")
	other := h.dial()
	c.send(request("SUBSCRIBE", "news"))
	c.expect("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n")
	other.asks(":1", "PUBLISH", "news", "x")
	c.expect("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\nx\r\n")
}

// A key that is encrypted is read with its passphrase, and not without.
func TestTLSKeyWithPassphrase(t *testing.T) {
	a := newAuthority(t)
	_, key := a.sign("server", false)
	der, err := pkcs8.ConvertPrivateKeyToPKCS8(key, []byte("1234"))
	if err != nil {
		t.Fatal(err)
	}
	a.write("encrypted.key", "ENCRYPTED PRIVATE KEY", der)
	settings := TLSSettings{CertFile: a.file("server.crt"), KeyFile: a.file("encrypted.key"), AuthClients: "no"}
	for _, test := range []struct{ pass, want string }{{"", "tls-key-file-pass must be given"}, {"12345", "decrypting the key"}, {"1234", ""}} {
		settings.KeyPass = test.pass
		if _, err := settings.config(); (err == nil) != (test.want == "") || !strings.Contains(errorText(err), test.want) {
			t.Errorf("passphrase %q: %v, want %q", test.pass, err, test.want)
		}
	}
}

func TestTLSSettingsThatDoNot(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", false)
	good := TLSSettings{CertFile: a.file("server.crt"), KeyFile: a.file("server.key"), AuthClients: "no", Ciphers: "ECDHE-RSA-AES128-GCM-SHA256 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"}
	if c, err := good.config(); err != nil || len(c.CipherSuites) != 2 {
		t.Fatalf("%v", err)
	}
	for name, spoil := range map[string]func(*TLSSettings){
		"tls-cert-file":    func(s *TLSSettings) { s.CertFile = "" },
		"tls-key-file":     func(s *TLSSettings) { s.KeyFile = a.file("authority.key") },
		"tls-ca-cert-file": func(s *TLSSettings) { s.AuthClients = "yes" },
		"tls-protocols":    func(s *TLSSettings) { s.Protocols = "TLSv1.2 SSLv3" },
		"tls-ciphers":      func(s *TLSSettings) { s.Ciphers = "NULL" },
	} {
		s := good
		spoil(&s)
		if _, err := s.config(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, errors.Unwrap(err))
		}
	}
}
