package libhttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// acceptEncoding is what decoders can undo.
const acceptEncoding = "gzip, deflate, br, zstd"

// maxEncodings bounds the layers of Content-Encoding; more is an attack.
const maxEncodings = 3

// zstdWindow is the largest window a zstd body may ask for (RFC 9659).
const zstdWindow = 8 << 20

// decoders hands out pooled decoders. The zero value is ready. It is safe for
// concurrent use.
type decoders struct {
	buffered, gzip, zlib, flate, brotli, zstd sync.Pool
}

// decoding undoes the encodings of one body; release gives its decoders back.
type decoding struct {
	io.Reader
	undo []func()
}

func (d *decoding) release() {
	for i := len(d.undo) - 1; i >= 0; i-- {
		d.undo[i]()
	}
}

// start returns a reader of what src holds under the Content-Encoding header
// values. Unknown encodings are taken for no encoding, as is a body that does
// not begin as the named encoding does: such headers are wrong more often than
// such bodies are useless.
func (d *decoders) start(src io.Reader, encodings []string) (*decoding, error) {
	out := &decoding{Reader: src}
	var names []string
	for _, v := range encodings {
		for name := range strings.SplitSeq(v, ",") {
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case "gzip", "x-gzip", "deflate", "br", "zstd":
				names = append(names, name)
			}
		}
	}
	if len(names) > maxEncodings {
		return out, fmt.Errorf("%d content encodings on top of each other, at most %d are undone", len(names), maxEncodings)
	}
	for i := len(names) - 1; i >= 0; i-- {
		if err := d.layer(out, names[i]); err != nil {
			return out, fmt.Errorf("decode %s: %w", names[i], err)
		}
	}
	return out, nil
}

func (d *decoders) layer(out *decoding, name string) error {
	br, _ := d.buffered.Get().(*bufio.Reader)
	if br == nil {
		br = bufio.NewReaderSize(nil, 8<<10)
	}
	br.Reset(out.Reader)
	out.undo = append(out.undo, func() { br.Reset(nil); d.buffered.Put(br) })
	magic, err := br.Peek(4)
	if len(magic) == 0 {
		out.Reader = br
		if errors.Is(err, io.EOF) {
			return nil // no body
		}
		return err
	}
	out.Reader = br
	switch name {
	case "gzip", "x-gzip":
		if len(magic) >= 2 && magic[0] == 0x1f && magic[1] == 0x8b {
			return d.gzipLayer(out, br)
		}
	case "deflate":
		if len(magic) >= 2 && magic[0]&0x0f == 8 && (int(magic[0])<<8|int(magic[1]))%31 == 0 {
			return d.zlibLayer(out, br)
		}
		return d.flateLayer(out, br)
	case "br":
		r, _ := d.brotli.Get().(*brotli.Reader)
		if r == nil {
			r = brotli.NewReader(nil)
		}
		out.undo = append(out.undo, func() { d.brotli.Put(r) })
		out.Reader = r
		return r.Reset(br)
	case "zstd":
		if len(magic) == 4 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd && magic[0] == 0x28 ||
			len(magic) == 4 && magic[0]&0xf0 == 0x50 && magic[1] == 0x2a && magic[2] == 0x4d && magic[3] == 0x18 {
			return d.zstdLayer(out, br)
		}
	}
	return nil
}

func (d *decoders) gzipLayer(out *decoding, br *bufio.Reader) error {
	r, _ := d.gzip.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	out.undo = append(out.undo, func() { d.gzip.Put(r) })
	if err := r.Reset(br); err != nil {
		return err
	}
	out.Reader = &gzipReader{Reader: r}
	return nil
}

// gzipReader takes what follows a complete member and is no further member for
// padding.
type gzipReader struct {
	*gzip.Reader
	any bool
}

func (g *gzipReader) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	g.any = g.any || n > 0
	if g.any && errors.Is(err, gzip.ErrHeader) {
		err = io.EOF
	}
	return n, err
}

func (d *decoders) zlibLayer(out *decoding, br *bufio.Reader) error {
	r, _ := d.zlib.Get().(io.ReadCloser)
	var err error
	if r == nil {
		r, err = zlib.NewReader(br)
	} else {
		err = r.(zlib.Resetter).Reset(br, nil)
	}
	if err != nil {
		return err
	}
	out.undo = append(out.undo, func() { d.zlib.Put(r) })
	out.Reader = r
	return nil
}

func (d *decoders) flateLayer(out *decoding, br *bufio.Reader) error {
	r, _ := d.flate.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReader(br)
	} else if err := r.(flate.Resetter).Reset(br, nil); err != nil {
		return err
	}
	out.undo = append(out.undo, func() { d.flate.Put(r) })
	out.Reader = r
	return nil
}

func (d *decoders) zstdLayer(out *decoding, br *bufio.Reader) error {
	r, _ := d.zstd.Get().(*zstd.Decoder)
	if r == nil {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return err
		}
	}
	out.undo = append(out.undo, func() { _ = r.Reset(nil); d.zstd.Put(r) })
	out.Reader = r
	return r.Reset(br)
}
