package protocolfile

import (
	"bytes"
	"context"
	"errors"
	"html"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk/extension/protocol"
)

// list fills out.Body with an HTML page of links to what is in the folder, in
// byte order of the names: regular files, folders (with a slash at the end)
// and symbolic links. More than max_entries or the content limit allow is left
// out, with the reason "length".
func (f *Fetcher) list(ctx context.Context, req *protocol.Request, dir *os.File, name string, out *protocol.Response) error {
	names, err := f.entries(ctx, dir, out)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(name, "/") {
		name += "/"
	}
	title := html.EscapeString("Index of " + printable(name))
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>" + title + "</title></head>\n<body><h1>" + title + "</h1>\n<ul>\n")
	if f.cfg.CrawlParent && f.hasParent(name) {
		b.WriteString("<li><a href=\"../\">../</a></li>\n")
	}
	const end = "</ul>\n</body></html>\n"
	limit := f.limit(req)
	for _, n := range names {
		line := "<li><a href=\"" + href(n) + "\">" + html.EscapeString(printable(n)) + "</a></li>\n"
		if int64(b.Len()+len(line)+len(end)) > limit {
			out.Truncated = "length"
			break
		}
		b.WriteString(line)
	}
	b.WriteString(end)
	out.Body = b.Bytes()
	if int64(len(out.Body)) > limit { // not even the frame
		out.Body, out.Truncated = out.Body[:limit], "length"
	}
	out.ContentType = "text/html; charset=utf-8"
	out.Headers.Set("Content-Type", out.ContentType)
	return nil
}

// entries reads the names to list, sorted.
func (f *Fetcher) entries(ctx context.Context, dir *os.File, out *protocol.Response) ([]string, error) {
	var names []string
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		batch, err := dir.ReadDir(1024)
		for _, e := range batch {
			n := e.Name()
			if n[0] == '.' && !f.cfg.CrawlHidden {
				continue
			}
			switch t := e.Type(); {
			case t.IsDir():
				n += "/"
			case !t.IsRegular() && t&fs.ModeSymlink == 0:
				continue
			}
			if len(names) == f.cfg.MaxEntries {
				out.Truncated = "length"
				break
			}
			names = append(names, n)
		}
		if errors.Is(err, io.EOF) || out.Truncated != "" {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// hasParent reports whether the folder above is one that may be listed.
func (f *Fetcher) hasParent(name string) bool {
	trimmed := strings.TrimSuffix(name, "/")
	i := strings.LastIndexByte(trimmed, '/')
	return i >= 0 && trimmed != "" && f.named(max(trimmed[:i], "/"))
}

// href is name as a relative reference that nothing in it can break out of.
func href(name string) string {
	dir := strings.HasSuffix(name, "/")
	s := "./" + html.EscapeString(url.PathEscape(strings.TrimSuffix(name, "/")))
	if dir {
		s += "/"
	}
	return s
}

// printable is name as text; bytes that are no UTF-8 become U+FFFD.
func printable(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
