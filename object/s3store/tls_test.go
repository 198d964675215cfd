package s3store_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"hash/crc32"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batcher/object"
	"batcher/object/s3store"
)

// TestPayloadProtection looks at what is sent over TLS in each checksum mode.
func TestPayloadProtection(t *testing.T) {
	ctx := context.Background()
	upstream, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var sent []http.Header
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			mu.Lock()
			sent = append(sent, r.In.Header.Clone())
			mu.Unlock()
			r.SetURL(upstream)
			r.Out.Host = r.In.Host // it is signed
		},
	})
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0) // the last case breaks a handshake
	proxy.StartTLS()
	defer proxy.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o644); err != nil {
		t.Fatal(err)
	}
	body := []byte("aaa")
	hash := sha256.Sum256(body)
	sum := hex.EncodeToString(hash[:])
	crc := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)))
	for name, c := range map[string]struct {
		mode           s3store.Checksums
		payload, check string
	}{
		"auto, not AWS": {s3store.ChecksumsAuto, sum, ""},
		"sha256":        {s3store.SHA256, sum, ""},
		"crc32":         {s3store.CRC32, "UNSIGNED-PAYLOAD", crc},
	} {
		sent = nil
		s := open(t, s3store.Config{Bucket: "plain", Prefix: t.Name(), Endpoint: proxy.URL, CAFile: ca, Checksums: c.mode})
		if _, err := s.Put(ctx, "k", body, object.Always); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		h := sent[0]
		if len(sent) != 1 || h.Get("X-Amz-Content-Sha256") != c.payload || h.Get("X-Amz-Checksum-Crc32") != c.check ||
			h.Get("X-Amz-Trailer") != "" || h.Get("Content-Encoding") != "" || h.Get("Content-Length") != "3" {
			t.Errorf("%s: %d requests; sent %v", name, len(sent), h)
		}
	}
	untrusting := open(t, s3store.Config{Bucket: "plain", Endpoint: proxy.URL})
	if _, err := untrusting.Put(ctx, "k", nil, object.Always); !errors.Is(err, object.ErrUnsupported) || errors.Is(err, object.ErrUnknown) || !strings.Contains(err.Error(), "ca_file") {
		t.Errorf("certificate of an unknown authority: %v", err)
	}
}
