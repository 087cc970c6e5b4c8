package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// How long certificates are good for.
const (
	authorityYears = 10
	certificateAge = 398 * 24 * time.Hour
	// RenewBefore is how long before its end a certificate is to be renewed.
	RenewBefore = 45 * 24 * time.Hour
)

// newAuthority makes the CA of one exchange. It signs nodes' certificates, and nothing below it may sign.
func newAuthority(now time.Time) (cert, key []byte, err error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Gatehouse exchange CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(authorityYears, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	return issue(template, template, pair, pair)
}

// newCertificate makes a node's certificate: for hosts, to which it is a server, and for other nodes, to which it is
// both. names are host names or addresses.
func newCertificate(caCert, caKey []byte, node string, names []string, now time.Time) (cert, key []byte, err error) {
	ca, err := parseCertificate(caCert)
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(caKey)
	if block == nil {
		return nil, nil, errors.New("the CA's key is no PEM")
	}
	signer, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	end := now.Add(certificateAge)
	if end.After(ca.NotAfter) {
		end = ca.NotAfter
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: node},
		NotBefore: now.Add(-time.Hour), NotAfter: end,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	return issue(template, ca, pair, signer)
}

func issue(template, parent *x509.Certificate, pair, signer *ecdsa.PrivateKey) (cert, key []byte, err error) {
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &pair.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalECPrivateKey(pair)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), nil
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it is no certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// readCertificate reads the certificate in a file of the operator's.
func readCertificate(name string) (*x509.Certificate, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	cert, err := parseCertificate(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return cert, nil
}
