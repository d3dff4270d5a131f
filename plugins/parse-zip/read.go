package parsezip

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

// ratioFrom is the unpacked size from which max_ratio counts: small files may be
// packed very well.
const ratioFrom = 1 << 20

// read unpacks one file of packed bytes, -1 when that is not known, up to the
// limits. One that unpacks to too much for its size is a bomb; with on it is read
// on behind the limits to find that out.
func (a *archive) read(r io.Reader, packed int64, on bool) ([]byte, error) {
	limit, bomb := min(int64(a.p.MaxFile), a.left), a.bomb(packed)
	var buf bytes.Buffer
	r = &stopper{r: r, a: a}
	n, err := io.Copy(&buf, io.LimitReader(r, min(limit, bomb)+1))
	if n > limit && n <= bomb && on {
		rest, _ := io.Copy(io.Discard, io.LimitReader(r, bomb-n+1))
		n += rest
	}
	switch {
	case n > bomb:
		return nil, fmt.Errorf("%w: a file unpacks to more than %d times its packed size", errBomb, a.p.MaxRatio)
	case errors.Is(err, errBomb):
		return nil, err
	case n > limit:
		libparse.Truncated(a.meta, "size")
		return buf.Bytes()[:limit], nil
	case err != nil && n == 0:
		return nil, err
	case err != nil:
		libparse.Truncated(a.meta, "damaged")
	}
	return buf.Bytes(), nil
}

// bomb returns how much a file may unpack to.
func (a *archive) bomb(packed int64) int64 {
	if packed < 0 {
		return 1 << 62
	}
	return max(ratioFrom, packed*int64(a.p.MaxRatio))
}

// stopper ends reading when the call has ended.
type stopper struct {
	r io.Reader
	a *archive
}

func (s *stopper) Read(b []byte) (int, error) {
	if err := s.a.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}

// zip opens a zip file by its directory, or without one file by file, as far as it
// goes.
func (a *archive) zip(body []byte) error {
	a.kinds = append(a.kinds, "zip")
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return a.zipLocal(body, err)
	}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") || !f.Mode().IsRegular() {
			continue
		}
		if f.Flags&1 != 0 { // encrypted
			a.entries++
			a.damaged++
			continue
		}
		size := int64(min(f.UncompressedSize64, 1<<62)) //nolint:gosec // bounded
		if !a.room(f.Name, size) {
			if size <= a.bomb(int64(min(f.CompressedSize64, 1<<40))) || a.skips(f.Name) { //nolint:gosec // bounded
				continue
			}
			a.over-- // too large for a reason
		}
		if err := a.zipFile(f); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) zipFile(f *zip.File) error {
	packed := int64(min(f.CompressedSize64, 1<<40))               //nolint:gosec // bounded
	if int64(min(f.UncompressedSize64, 1<<62)) > a.bomb(packed) { //nolint:gosec // bounded
		return fmt.Errorf("%w: a file says that it unpacks to more than %d times its packed size", errBomb, a.p.MaxRatio)
	}
	r, err := f.Open()
	if err != nil {
		a.damaged++
		return nil // this file is damaged or packed in a way unknown here
	}
	defer r.Close()
	body, err := a.read(r, packed, false)
	if errors.Is(err, errBomb) || a.ctx.Err() != nil {
		return err
	}
	if err != nil {
		a.damaged++
		return nil
	}
	a.add(f.Name, body)
	return nil
}

// zipLocal reads a zip file without its directory, which a cut has taken: local
// headers, one after another (APPNOTE.TXT 4.3.7).
func (a *archive) zipLocal(body []byte, cause error) error {
	for len(body) >= 30 && bytes.HasPrefix(body, []byte("PK\x03\x04")) {
		flags, method := binary.LittleEndian.Uint16(body[6:]), binary.LittleEndian.Uint16(body[8:])
		packed := int64(binary.LittleEndian.Uint32(body[18:]))
		names, extra := int(binary.LittleEndian.Uint16(body[26:])), int(binary.LittleEndian.Uint16(body[28:]))
		if len(body) < 30+names+extra {
			break
		}
		name := string(body[30 : 30+names])
		data := body[30+names+extra:]
		if flags&8 != 0 { // the sizes come after the data
			packed = int64(len(data))
		}
		data = data[:min(packed, int64(len(data)))]
		left := bytes.NewReader(data)
		if !strings.HasSuffix(name, "/") && flags&1 == 0 && (method == 0 && flags&8 == 0 || method == 8) && a.room(name, -1) {
			var r io.Reader = left
			if method == 8 {
				r = flate.NewReader(left)
			}
			file, err := a.read(r, int64(len(data)), false)
			if err != nil && (errors.Is(err, errBomb) || a.ctx.Err() != nil) {
				return err
			}
			if err == nil && len(file) > 0 {
				a.add(name, file)
			}
		}
		if flags&8 == 0 {
			body = body[min(len(body), 30+names+extra+int(packed)):]
			continue
		}
		i := bytes.Index(body[4:], []byte("PK\x03\x04")) // the next header
		if i < 0 {
			break
		}
		body = body[4+i:]
	}
	if len(a.members) == 0 {
		return cause
	}
	libparse.Truncated(a.meta, "damaged")
	return nil
}

// tar opens a tar file.
func (a *archive) tar(r io.Reader) error {
	a.kinds = append(a.kinds, "tar")
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !a.room(h.Name, h.Size) {
			continue
		}
		body, err := a.read(t, -1, false)
		if err != nil {
			return err
		}
		a.add(h.Name, body)
	}
}

// stream opens what one compressor packed: a tar file, or a single file.
func (a *archive) stream(kind string, body []byte, name string) error {
	a.kinds = append(a.kinds, kind)
	packed := bytes.NewReader(body)
	var r io.Reader
	switch kind {
	case "gzip":
		z, err := gzip.NewReader(packed)
		if err != nil {
			return err
		}
		if z.Name != "" {
			name = path.Base(z.Name)
		}
		r = z
	case "bzip2":
		r = bzip2.NewReader(packed)
	case "zstd":
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return err
		}
		defer z.Close()
		r = z
	}
	// All of a tar's files together are held to the ratio, too.
	g := &guard{r: &stopper{r: r, a: a}, size: int64(len(body)), ratio: int64(a.p.MaxRatio)}
	br := bufio.NewReaderSize(g, 32<<10)
	head, err := br.Peek(512)
	if isTar(head) {
		return a.tar(br)
	}
	if len(head) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if name = unpackedName(name); !a.room(name, -1) {
		return nil
	}
	file, err := a.read(br, int64(len(body)), true)
	if err != nil {
		return err
	}
	a.add(name, file)
	return nil
}

// guard ends a stream that unpacks to too many times what it has read. Blocks of
// bzip2 and zstd are read ahead, so it goes by the whole size.
type guard struct {
	r     io.Reader
	size  int64
	ratio int64
	n     int64
}

func (g *guard) Read(b []byte) (int, error) {
	n, err := g.r.Read(b)
	g.n += int64(n)
	if g.n > max(ratioFrom, g.size*g.ratio) {
		return 0, fmt.Errorf("%w: it unpacks to more than %d times its size", errBomb, g.ratio)
	}
	return n, err
}

// unpackedName returns the name of what a packed file holds.
func unpackedName(name string) string {
	lower := strings.ToLower(name)
	for _, end := range []string{".gz", ".bz2", ".zst", ".gzip", ".z"} {
		if strings.HasSuffix(lower, end) && len(name) > len(end) {
			return name[:len(name)-len(end)]
		}
	}
	if strings.HasSuffix(lower, ".tgz") {
		return name[:len(name)-4] + ".tar"
	}
	return name
}
