package segment

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// writer appends to the present WARC file of a segment.
type writer struct {
	g   *Segments
	seg string

	mu     sync.Mutex // held from append to commit, so committed lengths only grow
	file   store.File // nil when none is open
	name   string
	length int64
	next   int // number of the next file
}

func (g *Segments) dir(seg string) string { return g.s.FS().PathJoin(g.s.SegmentsDir(), seg) }

func (g *Segments) writer(seg string) *writer {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.writers[seg]
	if w == nil {
		w = &writer{g: g, seg: seg}
		g.writers[seg] = w
	}
	return w
}

// CommitFetches appends the items' content to the segment's WARC file, makes it
// durable, and then stores their crawl_fetch records and the file's new length in
// one durable batch. also, when not nil, adds to the same batch. The items'
// Fetch.WARC and Size are filled in. Callers should hand over many items at a
// time: each call waits for the disk twice.
func (g *Segments) CommitFetches(ctx context.Context, seg string, items []FetchItem, also func(*store.Tx) error) error {
	packed := make([]member, len(items))
	content := false
	for i := range items {
		items[i].Fetch.Size = int64(len(items[i].Body))
		if !items[i].NoContent {
			packed[i] = g.members(&items[i])
			content = true
		}
	}
	return g.commit(ctx, seg, items, packed, content, also)
}

// Copy is a fetch whose WARC records are taken over from another segment.
type Copy struct {
	Fetch   Fetch
	Members []Member // as Reader.All returns them; none for a fetch without content
}

// CommitCopies is CommitFetches for copies. Their Fetch.WARC and attachments' places are filled
// in.
func (g *Segments) CommitCopies(ctx context.Context, seg string, copies []Copy, also func(*store.Tx) error) error {
	items := make([]FetchItem, len(copies))
	packed := make([]member, len(copies))
	content := false
	for i := range copies {
		c, it, m := &copies[i], &items[i], &packed[i]
		c.Fetch.WARC = Place{}
		it.Fetch, it.NoContent = c.Fetch, len(c.Members) == 0
		for j, x := range c.Members {
			m.data = append(m.data, x.Packed...)
			if j == 0 {
				m.response = len(x.Packed)
			}
			if x.Attachment != "" {
				m.attached = append(m.attached, len(x.Packed))
				it.Attachments = append(it.Attachments, protocol.Attachment{Name: x.Attachment})
			}
		}
		content = content || !it.NoContent
	}
	return g.commit(ctx, seg, items, packed, content, also)
}

func (g *Segments) commit(ctx context.Context, seg string, items []FetchItem, packed []member, content bool, also func(*store.Tx) error) error {
	w := g.writer(seg)
	w.mu.Lock()
	defer w.mu.Unlock()
	lengths := make(map[string]int64)
	if content {
		if err := w.append(items, packed, lengths); err != nil {
			return fmt.Errorf("write segment %s: %w", seg, err)
		}
	}
	return g.s.Update(ctx, func(tx *store.Tx) error {
		for name, n := range lengths {
			tx.Set(store.Key2(store.PrefixWARC, seg, name), store.AppendUint(nil, uint64(n)))
		}
		var c Counts
		var buf []byte
		for i := range items {
			f := &items[i].Fetch
			buf = appendFetch(buf[:0], f)
			tx.Set(PartKey(seg, PartFetch, urlkey.FromURL(f.URL)), buf)
			c.Bytes += f.Size
			c.Fetched++
			if f.Status == model.StatusFetchRetry || f.Status == model.StatusFetchGone {
				c.Failed++
			}
		}
		AddCounts(tx, seg, c)
		if also != nil {
			return also(tx)
		}
		return nil
	})
}

// append writes the members, opening and closing files as needed, and syncs.
// lengths gets the durable length of every file written to.
func (w *writer) append(items []FetchItem, packed []member, lengths map[string]int64) error {
	size := 1 << 10
	for i := range packed {
		size += len(packed[i].data)
	}
	buf := make([]byte, 0, size) // written at once per file
	flush := func() error {
		if w.file == nil || len(buf) == 0 {
			return nil
		}
		n := int64(len(buf))
		_, err := w.file.Write(buf)
		buf = buf[:0]
		if err != nil {
			return err
		}
		w.length += n
		if err := w.file.SyncData(); err != nil {
			return err
		}
		lengths[w.name] = w.length
		return nil
	}
	for i := range items {
		if packed[i].data == nil {
			continue
		}
		at := w.length + int64(len(buf))
		if w.file == nil || at >= w.g.o.MaxFileSize {
			if err := errors.Join(flush(), w.close1()); err != nil {
				return err
			}
			info, err := w.open()
			if err != nil {
				return err
			}
			buf = append(buf, info...)
			at = int64(len(buf))
		}
		items[i].Fetch.WARC = Place{File: w.name, Offset: at, Length: int64(packed[i].response)}
		items[i].placeAttachments(w.name, at+int64(len(packed[i].data)), packed[i].attached)
		buf = append(buf, packed[i].data...)
	}
	return flush()
}

// open makes the segment's next file and returns what it starts with.
func (w *writer) open() ([]byte, error) {
	fs, dir := w.g.s.FS(), w.g.dir(w.seg)
	if w.next == 0 {
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		for _, d := range []string{w.g.s.SegmentsDir(), w.g.s.Dir()} {
			if err := store.SyncDir(fs, d); err != nil {
				return nil, err
			}
		}
		names, err := fs.List(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			var n int
			if _, err := fmt.Sscanf(strings.TrimPrefix(name, "crawler-"+w.seg+"-"), "%05d.warc.gz", &n); err == nil {
				w.next = max(w.next, n)
			}
		}
		w.next++
	}
	name := fmt.Sprintf("crawler-%s-%05d.warc.gz", w.seg, w.next)
	f, err := store.Create(fs, fs.PathJoin(dir, name))
	if err != nil {
		return nil, err
	}
	if err := store.SyncDir(fs, dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w.file, w.name, w.length = f, name, 0
	w.next++
	c := w.g.compressor()
	defer w.g.putCompressor(c)
	c.out.Reset()
	c.raw = w.g.appendInfo(c.raw[:0], name, w.seg, time.Now())
	c.pack()
	return bytes.Clone(c.out.Bytes()), nil
}

func (w *writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.close1()
}

func (w *writer) close1() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

// recover cuts every WARC file back to its committed length and removes files
// of which nothing was committed.
func (g *Segments) recover(ctx context.Context) error {
	committed, err := g.committed(ctx)
	if err != nil {
		return err
	}
	fs := g.s.FS()
	for _, seg := range sortedKeys(committed) {
		for _, name := range sortedKeys(committed[seg]) {
			if err := cut(fs, g.dir(seg), name, committed[seg][name]); err != nil {
				return err
			}
		}
	}
	return g.removeStrays(committed)
}

func (g *Segments) removeStrays(committed map[string]map[string]int64) error {
	fs := g.s.FS()
	segs, err := fs.List(g.s.SegmentsDir())
	if err != nil {
		return nil //nolint:nilerr // there is no segment yet
	}
	for _, seg := range segs {
		names, err := fs.List(g.dir(seg))
		if err != nil {
			continue // a file of the user's
		}
		for _, name := range names {
			if _, ok := committed[seg][name]; ok || !strings.HasPrefix(name, "crawler-"+seg+"-") {
				continue
			}
			if err := fs.Remove(fs.PathJoin(g.dir(seg), name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut shortens the file to n bytes.
func cut(fs store.FS, dir, name string, n int64) error {
	path := fs.PathJoin(dir, name)
	st, err := fs.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w; copy it again, whole", store.ErrIncomplete, err)
	}
	switch {
	case st.Size() == n:
		return nil
	case st.Size() < n:
		return fmt.Errorf("%w: %s has %d bytes, %d were committed; copy it again, whole", store.ErrIncomplete, path, st.Size(), n)
	}
	return store.Truncate(fs, path, n)
}

// GetContent returns the stored document of key with all its headers. It is
// ErrNoContent when the fetch left none.
func (g *Segments) GetContent(seg string, key urlkey.Key) (*model.Content, error) {
	f, err := g.GetFetch(seg, key)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, fmt.Errorf("content of %s in segment %s: %w", key, seg, ErrNoContent)
	}
	return g.Content(seg, f)
}

// Content returns the stored document of f, a crawl_fetch record of seg. It is ErrNoContent when
// the fetch left none.
func (g *Segments) Content(seg string, f *Fetch) (*model.Content, error) {
	if f.WARC.File == "" {
		return nil, fmt.Errorf("content of %s in segment %s: %w", f.URL, seg, ErrNoContent)
	}
	raw, err := g.readMember(seg, f.WARC)
	if err == nil {
		var c *model.Content
		if c, err = f.decode(raw); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("content of %s in segment %s, file %s at %d: %w", f.URL, seg, f.WARC.File, f.WARC.Offset, err)
}

// Attachment returns what is kept beside f's document under a name, and its content type. It
// is ErrNoContent when there is nothing of that name.
func (g *Segments) Attachment(seg string, f *Fetch, name string) (body []byte, contentType string, err error) {
	where := f.Metadata.First(MetaAttachment + name)
	if where == "" {
		return nil, "", fmt.Errorf("%s of %s in segment %s: %w", name, f.URL, seg, ErrNoContent)
	}
	p, err := ParsePlace(where)
	if err != nil {
		return nil, "", err
	}
	raw, err := g.readMember(seg, p)
	if err != nil {
		return nil, "", fmt.Errorf("%s of %s in segment %s, file %s at %d: %w", name, f.URL, seg, p.File, p.Offset, err)
	}
	head, block, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !ok || len(block) < 4 {
		return nil, "", fmt.Errorf("%w: no WARC record in %s at %d", store.ErrCorrupt, p.File, p.Offset)
	}
	_, rest, _ := bytes.Cut(head, []byte("\r\nContent-Type: "))
	ct, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return block[:len(block)-4], string(ct), nil
}

func (g *Segments) readMember(seg string, p Place) ([]byte, error) {
	fs := g.s.FS()
	file, err := fs.Open(fs.PathJoin(g.dir(seg), p.File))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	packed := make([]byte, p.Length)
	if _, err := file.ReadAt(packed, p.Offset); err != nil {
		return nil, err
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zr)
}

// decode takes a WARC record apart.
func (f *Fetch) decode(raw []byte) (*model.Content, error) {
	head, block, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !ok || !bytes.HasPrefix(head, []byte("WARC/1.")) {
		return nil, fmt.Errorf("%w: no WARC record", store.ErrCorrupt)
	}
	if int64(len(block)) < f.Size+4 {
		return nil, fmt.Errorf("%w: WARC record ends early", store.ErrCorrupt)
	}
	block = block[:len(block)-4] // the two line ends after a record
	body := block[int64(len(block))-f.Size:]
	headers := f.Headers
	if bytes.Contains(head, []byte("\r\nWARC-Type: response\r\n")) {
		http := block[:int64(len(block))-f.Size]
		_, fields, _ := bytes.Cut(http, []byte("\r\n"))
		h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
		if err == nil {
			headers = restoreHeaders(h)
		}
	}
	return f.content(body, headers), nil
}

// restoreHeaders undoes the renaming of storedHead.
func restoreHeaders(h textproto.MIMEHeader) model.Metadata {
	const prefix = "X-Crawler-"
	m := make(model.Metadata, len(h))
	for k, v := range h {
		if k == "Content-Length" {
			continue
		}
		if rest, ok := strings.CutPrefix(k, prefix); ok && describesTransfer([]byte(rest)) {
			k = rest
		}
		m[k] = v
	}
	return m
}
