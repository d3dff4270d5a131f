package protocolfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/liblist"
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
	var cut bool
	if out.Body, cut = liblist.Page(name, f.cfg.CrawlParent && f.hasParent(name), names, f.limit(req)); cut {
		out.Truncated = "length"
	}
	out.ContentType = liblist.ContentType
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
