// Package publishjsonl writes fetch events into a file. It owns the file and its
// rotation; the form of events is libevent's.
package publishjsonl

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gonutch/crawler/plugins/internal/libevent"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Path    string       `json:"path"`
	MaxSize setting.Size `json:"max_size"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	if c.Path == "" {
		if env.DataDir == "" {
			return nil, fault.Errorf(fault.Invalid, "no file to write to: set path")
		}
		c.Path = filepath.Join(env.DataDir, "events.jsonl")
	}
	f := &File{config: c}
	if err := f.open(); err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	return &sdk.Extensions{Publisher: f, Close: f.close}, nil
}

// File writes events into a file. It is safe for concurrent use.
type File struct {
	config
	mu   sync.Mutex
	f    *os.File
	size int64
}

// open opens the file behind its last whole line.
func (w *File) open() error {
	if err := os.MkdirAll(filepath.Dir(w.Path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(w.Path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	size, err := wholeLines(f)
	if err == nil {
		if err = f.Truncate(size); err == nil {
			_, err = f.Seek(size, io.SeekStart)
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", w.Path, err), f.Close())
	}
	w.f, w.size = f, size
	return nil
}

// wholeLines returns where the last line feed ends.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	b := make([]byte, 64<<10)
	for end > 0 {
		from := max(end-int64(len(b)), 0)
		n, err := f.ReadAt(b[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// Publish implements publisher.Publisher.
func (w *File) Publish(ctx context.Context, events []publisher.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var b bytes.Buffer
	for i := range events {
		line, err := libevent.JSON(&events[i])
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size > 0 && w.size+int64(b.Len()) > int64(w.MaxSize) {
		if err := w.rotate(); err != nil {
			return fault.New(fault.Transient, err)
		}
	}
	n, err := w.f.Write(b.Bytes())
	w.size += int64(n)
	if err != nil {
		return fault.New(fault.Transient, err)
	}
	return nil
}

func (w *File) rotate() error {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.%d", w.Path, n)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(w.Path, name); err != nil {
				return err
			}
			return errors.Join(w.f.Close(), w.open())
		} else if err != nil {
			return err
		}
	}
}

func (w *File) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.f.Sync(), w.f.Close())
}

var _ publisher.Publisher = (*File)(nil)
