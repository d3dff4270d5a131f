package testsite

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Encodings are what Encoded takes. "deflate-raw" is deflate without the
// zlib frame, as some servers send it under the name deflate.
func Encodings() []string {
	return []string{"identity", "gzip", "x-gzip", "deflate", "deflate-raw", "br", "zstd"}
}

// Encoded answers route with body under a Content-Encoding, whatever the
// client asked for.
func (s *Site) Encoded(route, contentType, encoding string, body []byte) *Site {
	data, err := Encode(encoding, body)
	return s.Handle(route, func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		name := encoding
		if name == "deflate-raw" {
			name = "deflate"
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Encoding", name)
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data)
	})
}

// Encode returns body in one of Encodings.
func Encode(encoding string, body []byte) ([]byte, error) {
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch encoding {
	case "identity":
		return body, nil
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "deflate-raw":
		w, err = flate.NewWriter(&b, flate.DefaultCompression)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	default:
		return nil, fmt.Errorf("encoding %q: want one of %q", encoding, Encodings())
	}
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
