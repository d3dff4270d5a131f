package parseoffice

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors that end the reading of a document; what was read counts.
var (
	errTime = errors.New("out of time")
	errSize = errors.New("more is packed into the document than max_unpacked allows")
)

const (
	maxEntries = 100_000 // of a table in one part: styles, formats, pages of a book
	maxNamed   = 1_000   // parts with names of their own that are kept beyond max_parts
)

// box is a document's zip container. One whose end is missing, and with it the
// table of contents, is read by the headers in front of its files.
type box struct {
	files    map[string]entry
	max      int  // files that are kept
	over     int  // how many are not
	cut      bool // the table of contents is missing
	budget   int64
	deadline time.Time
}

type entry struct {
	file   *zip.File // nil in a cut box
	packed []byte    // what may belong to the file
	method uint16
}

// openBox opens a container of which maxParts files count. budget is how many bytes may
// be unpacked in all.
func openBox(body []byte, maxParts int, budget int64, deadline time.Time) (*box, error) {
	b := &box{files: map[string]entry{}, max: maxParts, budget: budget, deadline: deadline}
	if z, err := zip.NewReader(bytes.NewReader(body), int64(len(body))); err == nil || errors.Is(err, zip.ErrInsecurePath) {
		for _, f := range z.File {
			b.keep(cleanName(f.Name), entry{file: f})
		}
		return b, nil
	}
	b.cut = true
	b.scan(body)
	if len(b.files) == 0 {
		return nil, errors.New("neither a zip container nor a part of one")
	}
	return b, nil
}

// keep takes a file in. Beyond the limit only those count whose names have no number,
// which are few: the workbook, the table of texts.
func (b *box) keep(name string, e entry) {
	if _, ok := b.files[name]; !ok && len(b.files) >= b.max &&
		(len(b.files) >= b.max+maxNamed || strings.ContainsAny(path.Base(name), "0123456789")) {
		b.over++
		return
	}
	b.files[name] = e
}

// cleanName makes names comparable: forward slashes, no leading one.
func cleanName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

// localHeader is the size of a local file header without name and extra field
// (APPNOTE.TXT 4.3.7).
const localHeader = 30

// scan finds files by their local headers.
func (b *box) scan(body []byte) {
	magic, descriptor := []byte("PK\x03\x04"), []byte("PK\x07\x08")
	next := -1 // where the next data descriptor is, which ends files of unknown size
	for at := 0; time.Now().Before(b.deadline); {
		i := bytes.Index(body[at:], magic)
		if i < 0 || at+i+localHeader > len(body) {
			return
		}
		at += i
		h := body[at:]
		method, size := binary.LittleEndian.Uint16(h[8:]), int(binary.LittleEndian.Uint32(h[18:]))
		nameLen, extra := int(binary.LittleEndian.Uint16(h[26:])), int(binary.LittleEndian.Uint16(h[28:]))
		at += len(magic)
		start := localHeader + nameLen + extra
		if start > len(h) || nameLen == 0 || method != zip.Store && method != zip.Deflate {
			continue
		}
		name := string(h[localHeader : localHeader+nameLen])
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			continue
		}
		data := h[start:]
		switch {
		case size > 0 && size <= len(data):
			data = data[:size]
			at += start - len(magic) + size
		case method == zip.Store:
			from := len(body) - len(data)
			if next < from {
				if next = bytes.Index(data, descriptor); next < 0 {
					next = len(data)
				}
				next += from
			}
			data = body[from:next]
		}
		if name = cleanName(name); b.files[name].packed == nil {
			b.keep(name, entry{packed: data, method: method})
		}
	}
}

func (b *box) has(name string) bool {
	_, ok := b.files[cleanName(name)]
	return ok
}

// open returns a reader of the file called name. The caller closes it.
func (b *box) open(name string) (io.ReadCloser, error) {
	e, ok := b.files[cleanName(name)]
	if !ok {
		return nil, fmt.Errorf("part %s is missing", name)
	}
	switch {
	case e.file != nil:
		if e.file.Flags&1 != 0 {
			return nil, errEncrypted
		}
		r, err := e.file.Open()
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", name, err)
		}
		return &limited{r: r, c: r, b: b}, nil
	case e.method == zip.Store:
		return &limited{r: bytes.NewReader(e.packed), b: b}, nil
	}
	r := flate.NewReader(bytes.NewReader(e.packed))
	return &limited{r: r, c: r, b: b}, nil
}

// limited reads a file under its box's limits.
type limited struct {
	r io.Reader
	c io.Closer
	b *box
}

func (l *limited) Read(p []byte) (int, error) {
	if time.Now().After(l.b.deadline) {
		return 0, errTime
	}
	if l.b.budget <= 0 {
		return 0, errSize
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.b.budget)])
	l.b.budget -= int64(n)
	return n, err
}

func (l *limited) Close() error {
	if l.c == nil {
		return nil
	}
	return l.c.Close()
}

// readAll returns a file's bytes, at most limit of them.
func (b *box) readAll(name string, limit int64) ([]byte, error) {
	r, err := b.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(io.LimitReader(r, limit))
}
