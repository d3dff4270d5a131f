package protocols3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/plugins/internal/liblist"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Fetcher is the protocol. It is safe for concurrent use; Close ends idle connections.
type Fetcher struct {
	cfg       Config
	client    minio.Core
	transport *http.Transport
}

// NewFetcher checks cfg and builds a Fetcher. Errors are fault.Invalid.
func NewFetcher(cfg Config) (*Fetcher, error) {
	u, err := cfg.check()
	if err != nil {
		return nil, err
	}
	policy, err := libaddr.ParsePolicy(append(slices.Clone(cfg.HTTP.AllowPrivate), endpointEntry(u)))
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "http.allow_private or endpoint: %w", err)
	}
	dialer := &libaddr.Dialer{
		Policy: policy, Timeout: cfg.HTTP.ConnectTimeout.D(),
		Resolver: libaddr.NewResolver(libaddr.ResolverConfig{Lookup: cfg.Lookup, TTL: cfg.HTTP.DNSCacheTTL.D(), Timeout: cfg.HTTP.ConnectTimeout.D()}),
	}
	f := &Fetcher{cfg: cfg, transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, err
			}
			return dialer.Dial(ctx, host, uint16(n), nil)
		},
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: !cfg.HTTP.TLSCertificatesCheck}, //nolint:gosec // the user's choice
		TLSHandshakeTimeout: cfg.HTTP.ConnectTimeout.D(), MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, ForceAttemptHTTP2: true,
	}}
	lookup := minio.BucketLookupAuto
	if cfg.Own.PathStyle {
		lookup = minio.BucketLookupPath
	}
	c, err := minio.New(u.Host, &minio.Options{
		Creds: cfg.Own.credentials(), Secure: u.Scheme == "https", Region: cfg.Own.Region, BucketLookup: lookup, Transport: bounded{f.transport}, MaxRetries: 1,
	})
	if err != nil {
		return nil, invalid("endpoint: %w", err)
	}
	f.client = minio.Core{Client: c}
	return f, nil
}

// endpointEntry is the endpoint as an entry of an allow list.
func endpointEntry(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return u.Host + ":" + map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// Close ends the connections that are kept open.
func (f *Fetcher) Close() error {
	f.transport.CloseIdleConnections()
	return nil
}

func status(out *protocol.Response, code model.ProtocolCode, http int, format string, args ...any) {
	out.Status = model.ProtocolStatus{Code: code, HTTP: http, Message: fmt.Sprintf(format, args...)}
}

// Fetch reads one object, or lists a prefix that ends in a slash; see protocol.Protocol.
// Object storage has no robots.txt.
func (f *Fetcher) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	out := &protocol.Response{URL: req.URL, FetchTime: time.Now(), Protocol: "s3"}
	bucket, key, err := parse(req.URL)
	switch {
	case errors.Is(err, errScheme):
		status(out, model.ProtocolNotFoundProto, 0, "%v", err)
		return out, nil
	case err != nil:
		status(out, model.ProtocolGone, 0, "not a URL that can be asked for: %v", err)
		return out, nil
	case req.Kind != protocol.Page:
		status(out, model.ProtocolNotFound, 404, "object storage has none")
		return out, nil
	}
	limit := min(f.cfg.Own.Timeout.D(), f.cfg.HTTP.TimeLimit.D())
	if req.Timeout > 0 {
		limit = req.Timeout
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if key == "" || strings.HasSuffix(key, "/") {
		err = f.list(limited, req, bucket, key, out)
	} else {
		err = f.object(limited, req, bucket, key, out)
	}
	out.Elapsed = time.Since(out.FetchTime)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, fault.Errorf(fault.Transient, "fetch %s: called off: %w", req.URL, context.Cause(ctx))
	case limited.Err() != nil:
		status(out, model.ProtocolException, 0, "no document within timeout (%s)", limit)
	default:
		failure(err, out)
	}
	return out, nil
}

var errScheme = errors.New("only s3 is served")

// parse returns bucket and key of an s3: URL.
func parse(raw string) (bucket, key string, err error) {
	raw, _, _ = strings.Cut(raw, "#")
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", "", err
	case u.Scheme != "s3":
		return "", "", fmt.Errorf("scheme %q: %w", u.Scheme, errScheme)
	case u.Host == "" || u.Port() != "" || u.User != nil:
		return "", "", errors.New("want s3://BUCKET/KEY")
	}
	key = strings.TrimPrefix(u.Path, "/")
	if u.RawQuery != "" || u.ForceQuery {
		key += "?" + u.RawQuery // keys may have one; nothing else could be meant
	}
	if strings.IndexByte(key, 0) >= 0 {
		return "", "", errors.New("a NUL byte in it")
	}
	return u.Host, key, nil
}

// failure describes an error of the service.
func failure(err error, out *protocol.Response) {
	out.Body, out.Headers, out.ContentType, out.Truncated = nil, nil, "", ""
	if refused := (*libaddr.Refused)(nil); errors.As(err, &refused) {
		status(out, model.ProtocolAccessDenied, 0, "%v", refused)
		return
	}
	r := minio.ToErrorResponse(err)
	text := strings.TrimSpace(r.Code + ": " + r.Message)
	switch {
	case r.StatusCode == http.StatusNotModified:
		status(out, model.ProtocolNotModified, 304, "")
	case r.StatusCode/100 == 3:
		status(out, model.ProtocolException, r.StatusCode, "%s (redirects of the service are not followed)", text)
	case r.Code == minio.NoSuchKey, r.Code == minio.NoSuchBucket, r.StatusCode == http.StatusNotFound:
		status(out, model.ProtocolNotFound, 404, "%s", text)
	case r.Code == minio.SignatureDoesNotMatch, r.Code == minio.InvalidAccessKeyID:
		status(out, model.ProtocolAccessDenied, r.StatusCode, "%s (access_key, secret_key)", text)
	case r.Code == minio.AccessDenied, r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized:
		status(out, model.ProtocolAccessDenied, r.StatusCode, "%s", text)
	case strings.HasPrefix(r.Code, "Invalid") && r.StatusCode/100 != 5, r.StatusCode == http.StatusBadRequest:
		status(out, model.ProtocolGone, r.StatusCode, "%s", text)
	case r.StatusCode != 0:
		status(out, model.ProtocolException, r.StatusCode, "%s", text)
	default:
		status(out, model.ProtocolException, 0, "%v", err)
	}
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

func (f *Fetcher) object(ctx context.Context, req *protocol.Request, bucket, key string, out *protocol.Response) error {
	var o minio.GetObjectOptions
	if req.ETag != "" && !strings.ContainsAny(req.ETag, "\r\n") {
		o.Set("If-None-Match", req.ETag)
	}
	if t, err := http.ParseTime(req.LastModified); err == nil {
		o.Set("If-Modified-Since", t.UTC().Format(http.TimeFormat))
	}
	limit := f.limit(req)
	if limit < 1<<40 { // one more byte tells whether the object ends there
		o.Set("Range", fmt.Sprintf("bytes=0-%d", limit))
	}
	r, _, h, err := f.client.GetObject(ctx, bucket, key, o)
	if code := minio.ToErrorResponse(err).Code; err != nil && (code == "InvalidRange" || code == "416 Requested Range Not Satisfiable") {
		o.Set("Range", "") // an empty object has no range
		r, _, h, err = f.client.GetObject(ctx, bucket, key, o)
	}
	if err != nil {
		if minio.ToErrorResponse(err).Code == minio.NoSuchKey && f.isPrefix(ctx, bucket, key+"/") {
			out.Location = (&url.URL{Scheme: "s3", Host: bucket, Path: "/" + key + "/"}).String()
			status(out, model.ProtocolMoved, 300, "%s", out.Location)
			return nil
		}
		return err
	}
	defer func() { _ = r.Close() }()
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	out.Body = body
	switch {
	case int64(len(body)) > limit:
		out.Body, out.Truncated = body[:limit], "length"
	case err != nil && ctx.Err() != nil:
		out.Truncated = "time"
	case err != nil:
		out.Truncated = "disconnect"
	}
	h.Del("Content-Range")
	h.Set("Content-Length", strconv.Itoa(len(out.Body)))
	out.Headers, out.ContentType = model.Metadata(h), h.Get("Content-Type")
	status(out, model.ProtocolSuccess, 200, "")
	return nil
}

// isPrefix reports whether there are objects below a prefix.
func (f *Fetcher) isPrefix(ctx context.Context, bucket, prefix string) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range f.client.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, MaxKeys: 1}) {
		return o.Err == nil
	}
	return false
}

// list makes a page of what is directly below a prefix, in byte order.
func (f *Fetcher) list(ctx context.Context, req *protocol.Request, bucket, prefix string, out *protocol.Response) error {
	if u, err := url.Parse(req.URL); err == nil && u.Path == "" {
		out.Location = "s3://" + bucket + "/"
		status(out, model.ProtocolMoved, 300, "%s", out.Location)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = withPages(ctx, f.cfg.Own.MaxEntries)
	var names []string
	found := false
	for o := range f.client.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return o.Err
		}
		found = true
		n := strings.TrimPrefix(o.Key, prefix)
		if n == "" || n == "/" { // the prefix's own object, or a key with two slashes
			continue
		}
		if len(names) == f.cfg.Own.MaxEntries {
			out.Truncated = "length"
			break
		}
		names = append(names, n)
	}
	if !found && prefix != "" {
		status(out, model.ProtocolNotFound, 404, "no object below %s", prefix)
		return nil
	}
	slices.Sort(names)
	body, cut := liblist.Page("/"+prefix, f.cfg.Own.CrawlParent && prefix != "", slices.Compact(names), f.limit(req))
	out.Body = body
	if cut {
		out.Truncated = "length"
	}
	out.ContentType = liblist.ContentType
	out.Headers = model.Metadata{"Content-Type": {out.ContentType}, "Content-Length": {strconv.Itoa(len(body))}}
	status(out, model.ProtocolSuccess, 200, "")
	return nil
}

var _ protocol.Protocol = (*Fetcher)(nil)
