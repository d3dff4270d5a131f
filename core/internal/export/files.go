package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// MIMECount is how much there is of a MIME type.
type MIMECount struct {
	Type      string `json:"type"`
	Documents int64  `json:"documents"`
	Bytes     int64  `json:"bytes"`
}

// Files writes documents as files: FOLDER/org/example/www/HASH_NAME, or all in FOLDER when it
// is flat. HASH are the first 16 hexadecimal digits of the URL's SHA-256, NAME is the last part of its path. Of
// a URL with several captures the last stays. It is used by one goroutine.
type Files struct {
	dir    string // "": only counting
	flat   bool
	src    source
	counts map[string]*MIMECount
}

// NewFiles returns a writer of the documents of the crawl in folder crawl. With dir "" it
// only counts.
func NewFiles(crawl, dir string, flat bool) *Files {
	return &Files{dir: dir, flat: flat, src: newSource(crawl), counts: map[string]*MIMECount{}}
}

// Add writes the document of a capture.
func (f *Files) Add(c *query.Capture) error {
	n := f.counts[c.Fetch.MIMEType]
	if n == nil {
		n = &MIMECount{Type: c.Fetch.MIMEType}
		f.counts[n.Type] = n
	}
	n.Documents++
	n.Bytes += c.Fetch.Size
	if f.dir == "" {
		return nil
	}
	m, err := f.src.Member(c.Segment, place(c.Fetch))
	if err != nil {
		return fmt.Errorf("%s: %w", c.URL, err)
	}
	body := m.Block
	if m.Get("WARC-Type") == "response" {
		_, body, _ = bytes.Cut(body, []byte("\r\n\r\n"))
	}
	name := f.path(c.URL)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec,mnd // a folder as others make it
		return fmt.Errorf("make the folder: %w", err)
	}
	out, err := replace(name)
	if err != nil {
		return err
	}
	if _, err := out.Write(body); err != nil {
		out.drop()
		return fmt.Errorf("write %s: %w", name, err)
	}
	return out.finish()
}

// path is where the document of a URL goes. Nothing in a URL can lead out of the folder.
func (f *Files) path(url string) string {
	sum := sha256.Sum256([]byte(url))
	rest, _, _ := strings.Cut(url, "?")
	rest, _, _ = strings.Cut(rest, "#")
	name := hex.EncodeToString(sum[:8]) + "_" + plain(path.Base(rest))
	if f.flat {
		return filepath.Join(f.dir, name)
	}
	host := strings.Trim(urlkey.Host(url), ".[]")
	labels := []string{host}
	if _, err := netip.ParseAddr(host); err != nil {
		labels = strings.Split(host, ".")
		slices.Reverse(labels)
	}
	folders := []string{f.dir}
	for _, l := range labels {
		folders = append(folders, plain(l))
	}
	return filepath.Join(append(folders, name)...)
}

// plain makes a file's name of a stranger's text.
func plain(s string) string {
	const most = 80
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
	s = s[max(len(s)-most, 0):]
	if strings.Trim(s, ".") == "" {
		return "_"
	}
	return s
}

// Counts returns what was met, the most frequent type first.
func (f *Files) Counts() []MIMECount {
	out := []MIMECount{}
	for _, n := range f.counts {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b MIMECount) int {
		if a.Documents != b.Documents {
			return int(b.Documents - a.Documents)
		}
		return strings.Compare(a.Type, b.Type)
	})
	return out
}

// Close closes the segment's file that was read last.
func (f *Files) Close() error { return f.src.Close() }
