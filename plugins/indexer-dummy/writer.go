// Package indexerdummy writes the ids of documents into a text file (Nutch's
// indexer-dummy). It owns the file's form.
package indexerdummy

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Path   string `json:"path"`
	Delete bool   `json:"delete"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var base config
	if err := env.Settings.Decode(&base); err != nil {
		return nil, err
	}
	t := &libwriter.Table{Check: func(name string, params indexwriter.Params) (func(context.Context) (libwriter.Instance, error), error) {
		c, err := libindex.Merge(base, params)
		if err != nil {
			return nil, err
		}
		return func(context.Context) (libwriter.Instance, error) {
			if c.Path == "" {
				dir, err := libwriter.Folder("", env.DataDir, name)
				if err != nil {
					return nil, err
				}
				c.Path = filepath.Join(dir, "dummy-index.txt")
			}
			return open(c)
		}, nil
	}}
	return &sdk.Extensions{IndexWriter: t, Close: t.Shutdown}, nil
}

// commitLine ends everything that counts.
const commitLine = "commit\n"

type writer struct {
	config
	f     *os.File
	size  int64 // of what is committed
	lines bytes.Buffer
}

func open(c config) (libwriter.Instance, error) {
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return nil, fault.Param("path", "%w", err)
	}
	f, err := os.OpenFile(c.Path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	w := &writer{config: c, f: f}
	if w.size, err = committed(f); err == nil {
		err = f.Truncate(w.size)
	}
	if err != nil {
		return nil, errors.Join(fault.Errorf(fault.Invalid, "%s: %w", c.Path, err), f.Close())
	}
	return w, nil
}

// committed returns where the last commit line ends. A file that others wrote is an
// error: nothing of it is to be cut off.
func committed(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return 0, err
	}
	const block = 64 << 10
	for at := max(end-block, 0); ; at = max(at-block, 0) {
		b := make([]byte, min(end-at, block+int64(len(commitLine))))
		if _, err := f.ReadAt(b, at); err != nil {
			return 0, err
		}
		if i := bytes.LastIndex(b, []byte("\n"+commitLine)); i >= 0 {
			return at + int64(i) + 1 + int64(len(commitLine)), nil
		}
		if at == 0 {
			if first := []byte("commit\n"); bytes.HasPrefix(b, first) {
				return int64(len(first)), nil
			}
			if !ours(b) {
				return 0, errors.New("the file is not one of indexer-dummy; name another")
			}
			return 0, nil
		}
	}
}

func ours(b []byte) bool {
	for _, p := range []string{"add\t", "update\t", "delete\t", "commit"} {
		if bytes.HasPrefix(b, []byte(p)) || strings.HasPrefix(p, string(b)) {
			return true
		}
	}
	return false
}

func (w *writer) Write(_ context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	for i := range ops {
		verb := "add"
		if ops[i].Kind == indexwriter.Delete {
			if verb = "delete"; !w.Delete {
				continue
			}
		}
		fmt.Fprintf(&w.lines, "%s\t%s\n", verb, strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(ops[i].Doc.ID))
	}
	return make([]indexwriter.Result, len(ops)), nil
}

func (w *writer) Commit(context.Context) error {
	if w.lines.Len() == 0 {
		return nil
	}
	b := append(bytes.Clone(w.lines.Bytes()), commitLine...)
	_, err := w.f.WriteAt(b, w.size)
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		return fault.New(fault.Transient, errors.Join(err, w.f.Truncate(w.size)))
	}
	w.size += int64(len(b))
	w.lines.Reset()
	return nil
}

func (w *writer) Describe(_ context.Context, _ []model.Document, d *indexwriter.Description) error {
	d.Server = w.Path
	return nil
}

func (w *writer) Close(context.Context) error { return w.f.Close() }
