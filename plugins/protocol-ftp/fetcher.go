package protocolftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jlaffaye/ftp"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/plugins/internal/liblist"
	"github.com/gonutch/crawler/plugins/internal/liburl"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Fetcher is the protocol. It is safe for concurrent use; Close ends the connections that
// are kept.
type Fetcher struct {
	cfg    Config
	dialer libaddr.Dialer
	tls    *tls.Config
	idle   idle
	logins liburl.Hosts[struct{}] // who may have the configured login
}

// NewFetcher checks cfg and builds a Fetcher. Errors are fault.Invalid.
func NewFetcher(cfg Config) (*Fetcher, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	policy, err := libaddr.ParsePolicy(cfg.HTTP.AllowPrivate)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "http.allow_private: %w", err)
	}
	var logins liburl.Hosts[struct{}]
	for _, h := range cfg.Own.LoginHosts {
		if _, _, err := logins.Set(h, struct{}{}); err != nil {
			return nil, invalid("login_hosts: %w; want \"host\" or \"*.domain\"", err)
		}
	}
	return &Fetcher{
		cfg: cfg, logins: logins, idle: idle{kept: map[target]*session{}},
		tls: &tls.Config{
			MinVersion: tls.VersionTLS12, InsecureSkipVerify: !cfg.HTTP.TLSCertificatesCheck, //nolint:gosec // the user's choice
			ClientSessionCache: tls.NewLRUClientSessionCache(256),
		},
		dialer: libaddr.Dialer{
			Policy: policy, Timeout: cfg.HTTP.ConnectTimeout.D(),
			Resolver: libaddr.NewResolver(libaddr.ResolverConfig{Lookup: cfg.Lookup, TTL: cfg.HTTP.DNSCacheTTL.D(), Timeout: cfg.HTTP.ConnectTimeout.D()}),
		},
	}, nil
}

// Close ends the connections that are kept.
func (f *Fetcher) Close() error {
	f.idle.close()
	return nil
}

// Fetch reads one file or lists one folder; see protocol.Protocol. The HTTP codes in the
// status are those of Nutch's protocol-ftp.
func (f *Fetcher) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	out := &protocol.Response{URL: req.URL, FetchTime: time.Now()}
	err := f.fetch(ctx, req, out)
	out.Elapsed = time.Since(out.FetchTime)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func status(out *protocol.Response, code model.ProtocolCode, http int, format string, args ...any) {
	out.Status = model.ProtocolStatus{Code: code, HTTP: http, Message: fmt.Sprintf(format, args...)}
}

func (f *Fetcher) fetch(parent context.Context, req *protocol.Request, out *protocol.Response) error {
	t, name, err := f.parse(req)
	if err != nil {
		code := model.ProtocolGone
		if errors.Is(err, errScheme) {
			code = model.ProtocolNotFoundProto
		}
		status(out, code, 0, "%v", err)
		return nil
	}
	allowed, err := libaddr.ParsePolicy(req.AllowPrivate)
	if err != nil {
		return fmt.Errorf("request's AllowPrivate: %w", err)
	}
	out.Protocol = "ftp"
	if t.implicit || f.cfg.Own.TLS == "always" {
		out.Protocol = "ftps"
	}
	limit := min(f.cfg.Own.Timeout.D(), f.cfg.HTTP.TimeLimit.D())
	if req.Timeout > 0 {
		limit = req.Timeout
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	s := f.idle.take(t)
	reused := s != nil
	for {
		if s == nil {
			if s, err = f.dial(ctx, t, allowed); err != nil {
				break
			}
		}
		if err = f.exchange(ctx, s, req, name, out); err == nil {
			return nil
		}
		s.close()
		if !reused || ctx.Err() != nil || out.Body != nil {
			break
		}
		s, reused = nil, false // the server closed it meanwhile
	}
	if errors.Is(parent.Err(), context.Canceled) {
		return fault.Errorf(fault.Transient, "fetch %s: called off: %w", req.URL, context.Cause(parent))
	}
	f.failure(ctx, err, limit, out)
	return nil
}

// exchange asks for one document over s, which is kept when it can be used again. An error
// means that it can't.
func (f *Fetcher) exchange(ctx context.Context, s *session, req *protocol.Request, name string, out *protocol.Response) error {
	s.ctx, s.data, s.refused = ctx, nil, nil
	s.control.allow(maxReply)
	s.unwatch()
	s.unwatch = s.watch(s.control)
	out.IP = s.peer.String()
	err := s.document(req, name, out)
	over := !s.unwatch()
	switch {
	case err != nil:
		return err
	case over && errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case (over || out.Truncated == "time") && len(out.Body) == 0:
		return errLate
	case over || out.Truncated != "" || !f.cfg.Own.KeepConnection:
		s.close() // what is cut off may still be coming
		return nil
	}
	_ = s.control.SetDeadline(time.Time{})
	f.idle.put(s, f.cfg.Own.ServerTimeout.D())
	return nil
}

// failure describes what no document came of.
func (f *Fetcher) failure(ctx context.Context, err error, limit time.Duration, out *protocol.Response) {
	out.Body, out.Truncated, out.ContentType, out.Headers = nil, "", "", nil
	var refused *libaddr.Refused
	var login *loginError
	var reply *textproto.Error
	switch {
	case errors.As(err, &refused), errors.Is(err, errRefused):
		status(out, model.ProtocolAccessDenied, 0, "%v", err)
	case errors.As(err, &login) && errors.As(err, &reply) && reply.Code/100 == 5:
		status(out, model.ProtocolAccessDenied, 401, "%v", err)
	case ctx.Err() != nil, errors.Is(err, errLate):
		status(out, model.ProtocolException, 0, "no document within timeout (%s)", limit)
	case errors.As(err, &reply):
		status(out, model.ProtocolException, 500, "%v", err)
	default:
		status(out, model.ProtocolException, 0, "%v", err)
	}
}

var (
	errScheme  = errors.New("only ftp and ftps are served")
	errRefused = errors.New("data connection not made")
	errLate    = errors.New("out of time")
)

// parse returns where to connect and the path there.
func (f *Fetcher) parse(req *protocol.Request) (target, string, error) {
	raw, _, _ := strings.Cut(req.URL, "#")
	u, err := url.Parse(raw)
	if err != nil {
		return target{}, "", fmt.Errorf("not a URL that can be asked for: %w", err)
	}
	if u.Scheme != "ftp" && u.Scheme != "ftps" {
		return target{}, "", fmt.Errorf("scheme %q: %w", u.Scheme, errScheme)
	}
	t := target{implicit: u.Scheme == "ftps", port: 21, allowed: strings.Join(req.AllowPrivate, "\n")}
	if t.implicit {
		t.port = 990
	}
	if t.host, _, err = libaddr.CanonicalHost(u.Hostname()); err != nil {
		return target{}, "", fmt.Errorf("not a URL that can be asked for: %w", err)
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return target{}, "", fmt.Errorf("not a URL that can be asked for: port %q", p)
		}
		t.port = uint16(n)
	}
	t.user, t.password = f.cfg.login(&f.logins, t.host)
	if u.User != nil && u.User.Username() != "" {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	name := u.Path
	if i := strings.LastIndex(name, ";type="); i >= 0 { // RFC 1738 section 3.2.2
		name = name[:i]
	}
	if name == "" {
		name = "/"
	}
	if strings.ContainsAny(name+t.user+t.password, "\r\n\x00") {
		return target{}, "", errors.New("not a URL that can be asked for: line ends or NUL bytes in it")
	}
	return t, name, nil
}

// code is that of an FTP reply, 0 for other errors.
func code(err error) int {
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return reply.Code
	}
	return 0
}

// document fetches name. Errors are those that the connection does not survive.
func (s *session) document(req *protocol.Request, name string, out *protocol.Response) error {
	folder := strings.HasSuffix(name, "/")
	if clean := path.Clean(name); clean != name && (clean+"/" != name || clean == "/") {
		return s.moved(req, out, clean, folder)
	}
	if folder {
		return s.list(req, name, out)
	}
	out.Headers = model.Metadata{}
	folder, modified, err := s.look(name)
	switch {
	case err != nil && code(err) == 0:
		return err
	case folder:
		return s.moved(req, out, name, true)
	case !modified.IsZero():
		out.Headers.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
		if since, err := http.ParseTime(req.LastModified); err == nil && !modified.After(since) {
			status(out, model.ProtocolNotModified, 304, "")
			return nil
		}
	}
	r, err := s.Retr(name)
	if err != nil {
		return s.noFile(req, name, err, out)
	}
	return s.read(req, name, r, out)
}

// look asks about name by MLST or MDTM (RFC 3659), as far as the server knows them.
func (s *session) look(name string) (folder bool, modified time.Time, err error) {
	if s.IsTimePreciseInList() {
		e, err := s.GetEntry(name)
		if err != nil {
			return false, time.Time{}, err
		}
		return e.Type == ftp.EntryTypeFolder, e.Time, nil
	}
	if s.IsGetTimeSupported() {
		modified, err = s.GetTime(name)
	}
	return false, modified, err
}

// enter changes to a folder; any positive reply will do.
func (s *session) enter(name string) error {
	err := s.ChangeDir(name)
	if code(err)/100 == 2 {
		return nil
	}
	return err
}

// noFile finds out why there is no file of a name: there may be a folder.
func (s *session) noFile(req *protocol.Request, name string, err error, out *protocol.Response) error {
	if s.refused != nil {
		return fmt.Errorf("%w: %w", errRefused, s.refused)
	}
	c := code(err)
	if c != 550 && c != 551 && c != 553 && c != 501 && c != 450 {
		return err
	}
	switch cwd := s.enter(name); {
	case cwd == nil:
		return s.moved(req, out, name, true)
	case code(cwd) == 0:
		return cwd
	}
	missing(err, out)
	return nil
}

// missing describes a reply that says that there is no document.
func missing(err error, out *protocol.Response) {
	text := strings.ToLower(err.Error())
	out.Headers = nil
	switch {
	case code(err) == 450:
		status(out, model.ProtocolException, 500, "%v", err)
	case strings.Contains(text, "denied"), strings.Contains(text, "permission"), strings.Contains(text, "not allowed"):
		status(out, model.ProtocolAccessDenied, 401, "%v", err)
	default:
		status(out, model.ProtocolNotFound, 404, "%v", err)
	}
}

// moved reports that the document has another name.
func (s *session) moved(req *protocol.Request, out *protocol.Response, name string, folder bool) error {
	u, err := url.Parse(req.URL)
	if err != nil {
		return err
	}
	if folder && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	u.Path, u.RawPath, u.RawQuery, u.Fragment = name, "", "", ""
	out.Headers, out.Location = nil, u.String()
	status(out, model.ProtocolMoved, 300, "%s", out.Location)
	return nil
}

func (f *Fetcher) limit(req *protocol.Request) int64 {
	limit := int64(f.cfg.Own.ContentLimit)
	if req.MaxBytes != 0 {
		limit = req.MaxBytes
	}
	if limit < 0 {
		limit = math.MaxInt64 - 1
	}
	return limit
}

func (s *session) read(req *protocol.Request, name string, r *ftp.Response, out *protocol.Response) error {
	limit := s.f.limit(req)
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	out.Body = body
	switch {
	case int64(len(body)) > limit:
		out.Body, out.Truncated = body[:limit], "length"
	case err != nil && (s.ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)): // whichever tells first
		out.Truncated = "time"
	case err != nil:
		out.Truncated = "disconnect"
	}
	if out.Truncated == "" {
		if err := r.Close(); err != nil { // the server's word that it sent all
			out.Truncated = "disconnect"
		}
	}
	if len(body) == 0 && out.Truncated == "" && s.enter(name) == nil { // some servers send nothing for a folder
		return s.moved(req, out, name, true)
	}
	status(out, model.ProtocolSuccess, 200, "")
	out.Headers.Set("Content-Length", strconv.Itoa(len(out.Body)))
	return nil
}

// maxListing bounds what is read of a listing.
const maxListing = 64 << 20

// list makes a page of a folder, in byte order of the names.
func (s *session) list(req *protocol.Request, name string, out *protocol.Response) error {
	if err := s.enter(name); err != nil {
		if code(err)/100 == 5 {
			missing(err, out)
			return nil
		}
		return err
	}
	entries, err := s.listing()
	if err != nil {
		if s.refused != nil {
			return fmt.Errorf("%w: %w", errRefused, s.refused)
		}
		if code(err) == 550 {
			missing(err, out)
			return nil
		}
		if s.data == nil || !s.data.cut {
			return err
		}
	}
	if s.data != nil && s.data.cut {
		out.Truncated = "length"
	}
	var names []string
	for _, e := range entries {
		n := path.Base(e.Name)
		if e.Name == "" || n == "." || n == ".." || n == "/" || strings.ContainsAny(n, "\r\n\x00") {
			continue
		}
		if len(names) == s.f.cfg.Own.MaxEntries {
			out.Truncated = "length"
			break
		}
		if e.Type == ftp.EntryTypeFolder {
			n += "/"
		}
		names = append(names, n)
	}
	slices.Sort(names)
	body, cut := liblist.Page(name, s.f.cfg.Own.CrawlParent && name != "/", slices.Compact(names), s.f.limit(req))
	out.Body = body
	if cut {
		out.Truncated = "length"
	}
	out.ContentType = liblist.ContentType
	out.Headers = model.Metadata{"Content-Type": {out.ContentType}, "Content-Length": {strconv.Itoa(len(body))}}
	status(out, model.ProtocolSuccess, 200, "")
	return nil
}

// listing lists the folder that the session is in.
func (s *session) listing() ([]*ftp.Entry, error) {
	s.bound = maxListing
	defer func() { s.bound = 0 }()
	return s.List("")
}

var _ protocol.Protocol = (*Fetcher)(nil)
