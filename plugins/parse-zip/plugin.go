// Package parsezip opens archives: zip, tar, and gzip, bzip2 or zstd of a tar or of
// one file. It owns the limits that keep a hostile archive harmless; what is in a file is
// for the parsers that the core chooses for it.
package parsezip

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Parser opens archives. It is safe for concurrent use.
type Parser struct {
	MaxEntries int          `json:"max_entries"`
	MaxSize    setting.Size `json:"max_size"`
	MaxFile    setting.Size `json:"max_file"`
	MaxRatio   int          `json:"max_ratio"`
	Skip       []string     `json:"skip"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{}
	if err := env.Settings.Decode(p); err != nil {
		return nil, err
	}
	for _, pattern := range p.Skip {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fault.Errorf(fault.Invalid, "skip: %q is no pattern: %w", pattern, err)
		}
	}
	return &sdk.Extensions{Parser: p}, nil
}

// Keys of the parse metadata.
const (
	metaKind    = "archive"         // zip, tar, gzip, bzip2, zstd, or two such as gzip+tar
	metaEntries = "archive.entries" // files found
	metaSkipped = "archive.skipped" // files left out for their names
	metaDamaged = "archive.damaged" // files that can't be read: damaged, encrypted, packed in an unknown way
	metaOver    = "archive.over"    // files left out because of max_entries or max_size
)

// Parse implements parser.Parser: the archive's own parse is empty, its files are
// members.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	c := &in.Content
	a := &archive{p: p, ctx: ctx, url: c.URL, left: int64(p.MaxSize), meta: model.Metadata{}, taken: map[string]int{}}
	if c.Truncated != "" {
		libparse.Truncated(a.meta, c.Truncated)
	}
	err := a.open(c.Body, nameOf(c.URL))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil && len(a.members) == 0 && a.damaged > 0 {
		err = fmt.Errorf("none of its %d files can be read: they are damaged, encrypted or packed in an unknown way", a.entries)
	}
	if err != nil && len(a.members) > 0 && !errors.Is(err, errBomb) {
		libparse.Truncated(a.meta, "damaged")
		err = nil
	}
	if err != nil {
		return libparse.Unreadable(c, "archive: %v", err), nil
	}
	a.meta.Set(metaKind, strings.Join(a.kinds, "+"))
	for key, n := range map[string]int{metaEntries: a.entries, metaSkipped: a.skipped, metaDamaged: a.damaged, metaOver: a.over} {
		if n > 0 || key == metaEntries {
			a.meta.Set(key, strconv.Itoa(n))
		}
	}
	out := libparse.Succeeded(&model.Parse{URL: c.URL, ParseMeta: a.meta}, len(in.Facts))
	out.Members = a.members
	return out, nil
}

// nameOf returns the last part of a URL's path or member's name.
func nameOf(u string) string {
	u, frag, isMember := strings.Cut(u, "#")
	if isMember {
		u = frag
	}
	u, _, _ = strings.Cut(u, "?")
	name := u[strings.LastIndexByte(u, '/')+1:]
	if s, err := url.PathUnescape(name); err == nil {
		name = s
	}
	return name
}

// archive is one document being opened.
type archive struct {
	p       *Parser
	ctx     context.Context //nolint:containedctx // of one call of Parse
	url     string
	left    int64 // bytes that may still be unpacked
	kinds   []string
	members []model.Content
	meta    model.Metadata
	taken   map[string]int // names

	entries, skipped, over, damaged int
}

var (
	errBomb   = errors.New("it is a bomb")
	errFormat = errors.New("it is no zip, tar, gzip, bzip2 or zstd archive")
)

// skips reports whether a file is left out for its name.
func (a *archive) skips(name string) bool {
	base := path.Base(name)
	for _, pattern := range a.p.Skip {
		if dir, ok := strings.CutSuffix(pattern, "/*"); ok && strings.HasPrefix(name, dir+"/") {
			return true
		}
		for _, s := range []string{name, base} {
			if ok, _ := path.Match(pattern, s); ok { // build has checked it
				return true
			}
		}
	}
	return false
}

// room counts a file and reports whether one of size bytes is to be unpacked; a
// negative size is not known.
func (a *archive) room(name string, size int64) bool {
	a.entries++
	switch {
	case a.skips(name):
		a.skipped++
		return false
	case len(a.members) >= a.p.MaxEntries, min(size, int64(a.p.MaxFile)) > a.left, a.left <= 0:
		a.over++
		return false
	}
	return true
}

// add makes a file a member.
func (a *archive) add(name string, body []byte) {
	a.left -= int64(len(body))
	name = clean(name)
	if n := a.taken[name]; n > 0 { // archives may hold a name twice
		a.taken[name]++
		name += "." + strconv.Itoa(n+1)
	}
	a.taken[name]++
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	a.members = append(a.members, model.Content{URL: a.url + "#" + strings.Join(parts, "/"), Body: body})
}

// clean makes a name a relative path in UTF-8 without dots that lead up.
func clean(name string) string {
	if !utf8.ValidString(name) { // what DOS wrote
		if s, err := charmap.CodePage437.NewDecoder().String(name); err == nil {
			name = s
		}
	}
	name = strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, "\\", "/")), "/")
	if name == "" {
		name = "file"
	}
	return name
}

// open opens body, called name, by what it is.
func (a *archive) open(body []byte, name string) error {
	switch {
	case bytes.HasPrefix(body, []byte("PK\x03\x04")), bytes.HasPrefix(body, []byte("PK\x05\x06")), bytes.HasPrefix(body, []byte("PK00PK\x03\x04")):
		return a.zip(body)
	case bytes.HasPrefix(body, []byte("\x1f\x8b")):
		return a.stream("gzip", body, name)
	case bytes.HasPrefix(body, []byte("BZh")):
		return a.stream("bzip2", body, name)
	case bytes.HasPrefix(body, []byte("\x28\xb5\x2f\xfd")):
		return a.stream("zstd", body, name)
	case isTar(body):
		return a.tar(bytes.NewReader(body))
	}
	return errFormat
}

// isTar reports whether body starts with a tar header: the magic, or a checksum that
// is right.
func isTar(body []byte) bool {
	if len(body) < 512 {
		return false
	}
	if bytes.HasPrefix(body[257:], []byte("ustar")) {
		return true
	}
	want, err := strconv.ParseInt(strings.Trim(string(body[148:156]), " \x00"), 8, 64)
	if err != nil || body[0] == 0 {
		return false
	}
	sum := int64(0)
	for i, c := range body[:512] {
		if i >= 148 && i < 156 {
			c = ' '
		}
		sum += int64(c)
	}
	return sum == want
}
