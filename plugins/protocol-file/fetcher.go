package protocolfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Fetcher is the protocol. It is safe for concurrent use and keeps nothing
// open between calls.
type Fetcher struct {
	cfg   Config
	roots []root
}

// NewFetcher checks cfg and builds a Fetcher. Errors are fault.Invalid.
func NewFetcher(cfg Config) (*Fetcher, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	roots, err := parseRoots(cfg.Roots)
	if err != nil {
		return nil, err
	}
	return &Fetcher{cfg: cfg, roots: roots}, nil
}

// Fetch reads one file or lists one folder; see protocol.Protocol. The HTTP
// codes in the status are those of Nutch's protocol-file.
func (f *Fetcher) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	out := &protocol.Response{URL: req.URL, FetchTime: time.Now(), Protocol: "file"}
	err := f.fetch(ctx, req, out)
	out.Elapsed = time.Since(out.FetchTime)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func status(out *protocol.Response, code model.ProtocolCode, http int, format string, args ...any) error {
	out.Status = model.ProtocolStatus{Code: code, HTTP: http, Message: fmt.Sprintf(format, args...)}
	return nil
}

func (f *Fetcher) fetch(ctx context.Context, req *protocol.Request, out *protocol.Response) error {
	u, err := parseURL(req.URL)
	if err != nil {
		return status(out, model.ProtocolGone, 0, "not a file that can be asked for: %v", err)
	}
	if u.Scheme != "file" {
		return status(out, model.ProtocolNotFoundProto, 0, "scheme %q: only file is served", u.Scheme)
	}
	asked := path.Clean(u.Path)
	if !f.named(asked) {
		return status(out, model.ProtocolAccessDenied, 0, "%s is not below a folder of file.roots: refused; file { roots = [%q] } would allow it", asked, path.Dir(asked))
	}
	resolved, err := filepath.EvalSymlinks(asked)
	if err != nil {
		return failure(out, err)
	}
	rt, rel, ok := f.place(resolved)
	if !ok {
		return status(out, model.ProtocolAccessDenied, 0, "%s leads out of file.roots: refused", asked)
	}
	dir, err := os.OpenRoot(rt.resolved)
	if err != nil {
		return failure(out, err)
	}
	defer func() { _ = dir.Close() }()
	info, err := dir.Stat(rel)
	if err != nil {
		return failure(out, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return status(out, model.ProtocolAccessDenied, 401, "%s is no file or folder but a %s: refused", asked, kindOf(info.Mode()))
	}
	if info.IsDir() != strings.HasSuffix(u.Path, "/") && !info.IsDir() {
		return status(out, model.ProtocolNotFound, 404, "%s is no folder", asked)
	}
	canonical := f.canonical(asked, resolved, info.IsDir())
	if canonical != u.Path || u.RawQuery != "" || u.ForceQuery {
		out.Location = fileURL(canonical)
		return status(out, model.ProtocolMoved, 300, "%s", out.Location)
	}
	if !f.cfg.CrawlRedirectNoncanonial && info.IsDir() && loops(asked, resolved) {
		return status(out, model.ProtocolGone, 404, "%s leads back to a folder above it", asked)
	}
	return f.deliver(ctx, req, dir, rel, asked, info, out)
}

// deliver reads or lists what info was found of at rel below dir.
func (f *Fetcher) deliver(ctx context.Context, req *protocol.Request, dir *os.Root, rel, asked string, info fs.FileInfo, out *protocol.Response) error {
	modified := info.ModTime().UTC().Truncate(time.Second)
	out.Headers = model.Metadata{"Last-Modified": {modified.Format(http.TimeFormat)}}
	if since, err := http.ParseTime(req.LastModified); err == nil && !modified.After(since) {
		return status(out, model.ProtocolNotModified, 304, "")
	}
	file, err := open(dir, rel, info)
	if err != nil {
		return failure(out, err)
	}
	defer func() { _ = file.Close() }()
	if info.IsDir() {
		err = f.list(ctx, req, file, asked, out)
	} else {
		err = f.read(ctx, req, file, info.Size(), out)
	}
	if err != nil {
		if ctx.Err() != nil {
			return fault.Errorf(fault.Transient, "read %s: called off: %w", asked, context.Cause(ctx))
		}
		out.Body, out.Truncated = nil, ""
		return failure(out, err)
	}
	out.Status.Code, out.Status.HTTP = model.ProtocolSuccess, 200
	out.Headers.Set("Content-Length", strconv.Itoa(len(out.Body)))
	return nil
}

// failure describes an error of the file system.
func failure(out *protocol.Response, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		return status(out, model.ProtocolNotFound, 404, "%v", err)
	case errors.Is(err, fs.ErrPermission):
		return status(out, model.ProtocolAccessDenied, 401, "%v", err)
	case errors.Is(err, syscall.ELOOP), strings.Contains(err.Error(), "too many links"):
		return status(out, model.ProtocolGone, 404, "%v", err)
	case strings.Contains(err.Error(), "path escapes"): // os.Root: a link changed meanwhile
		return status(out, model.ProtocolAccessDenied, 401, "%v", err)
	}
	return status(out, model.ProtocolException, 500, "%v", err)
}

// named reports whether a path is below a root by its name alone, so that
// nothing outside is even looked at.
func (f *Fetcher) named(asked string) bool {
	for _, r := range f.roots {
		if _, ok := below(r.given, asked); ok {
			return true
		}
		if _, ok := below(r.resolved, asked); ok {
			return true
		}
	}
	return false
}

// place finds the root that a resolved path is below.
func (f *Fetcher) place(resolved string) (r root, rel string, ok bool) {
	for _, r := range f.roots {
		if rel, ok := below(r.resolved, resolved); ok {
			return r, rel, true
		}
	}
	return root{}, "", false
}

// canonical is the path that a URL should have: clean, folders with a slash
// at the end, and with symbolic links resolved unless the setting leaves them.
func (f *Fetcher) canonical(asked, resolved string, isDir bool) string {
	p := asked
	if f.cfg.CrawlRedirectNoncanonial {
		p = resolved
	}
	if isDir && p != "/" {
		p += "/"
	}
	return p
}

// loops reports whether one of the folders that asked goes through is the one
// that it ends in.
func loops(asked, resolved string) bool {
	if asked == resolved {
		return false
	}
	for dir := path.Dir(asked); dir != "/"; dir = path.Dir(dir) {
		if r, err := filepath.EvalSymlinks(dir); err == nil && r == resolved {
			return true
		}
	}
	return false
}

// open opens rel below dir without blocking and makes sure that it is still
// the kind of thing that info says.
func open(dir *os.Root, rel string, info fs.FileInfo) (*os.File, error) {
	file, err := dir.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	now, err := file.Stat()
	if err == nil && now.Mode().Type() != info.Mode().Type() {
		err = fmt.Errorf("%s changed its kind while being opened: %w", rel, fs.ErrPermission)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// piece is read between two looks at the clock and the context.
const piece = 1 << 20

// read fills out.Body with at most the limit's bytes. Memory follows what is
// there: files can grow, and some have no size (such as those in /proc).
func (f *Fetcher) read(ctx context.Context, req *protocol.Request, file io.Reader, size int64, out *protocol.Response) error {
	limit := f.limit(req)
	buf := make([]byte, 0, min(size, limit, piece)+1)
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if req.Timeout > 0 && time.Since(out.FetchTime) > req.Timeout {
			out.Truncated = "time"
			break
		}
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), max(min(size, limit)+1, int64(cap(buf))*2, 512))
			copy(grown, buf)
			buf = grown
		}
		space := buf[len(buf):cap(buf)]
		space = space[:min(len(space), piece)]
		if left := limit - int64(len(buf)); int64(len(space)) > left {
			space = space[:left+1] // one more byte tells whether the file ends here
		}
		n, err := file.Read(space)
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			buf, out.Truncated = buf[:limit], "length"
			break
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	out.Body = buf
	return nil
}

func (f *Fetcher) limit(req *protocol.Request) int64 {
	limit := int64(f.cfg.ContentLimit)
	if req.MaxBytes != 0 {
		limit = req.MaxBytes
	}
	if limit < 0 {
		limit = math.MaxInt64 - 1
	}
	return limit
}

// parseURL reads a file: URL of this machine; stray percent signs stand for
// themselves.
func parseURL(s string) (*url.URL, error) {
	s, _, _ = strings.Cut(s, "#")
	u, err := url.Parse(s)
	if err != nil {
		if u, err = url.Parse(escapeStray(s)); err != nil {
			return nil, err
		}
	}
	switch {
	case u.Scheme != "file":
		return u, nil
	case u.Host != "" && !strings.EqualFold(u.Host, "localhost"):
		return nil, fmt.Errorf("host %q: only files of this machine are served", u.Host)
	case !strings.HasPrefix(u.Path, "/"):
		return nil, fmt.Errorf("path %q is not absolute", u.Path+u.Opaque)
	case strings.IndexByte(u.Path, 0) >= 0:
		return nil, fmt.Errorf("path has a NUL byte")
	}
	return u, nil
}

func escapeStray(s string) string {
	var b strings.Builder
	for i := range len(s) {
		hex := i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])
		if c := s[i]; c == '%' && !hex || c < ' ' || c == 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func fileURL(p string) string { return (&url.URL{Scheme: "file", Path: p}).String() }

var _ protocol.Protocol = (*Fetcher)(nil)
