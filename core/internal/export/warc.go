package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/segment"
)

// Options say what WARC export writes.
type Options struct {
	Dir         string // where the files go; made when it is missing
	Prefix      string // of their names: PREFIX-00000.warc.gz, .warc.wat.gz, .warc.wet.gz, PREFIX.cdxj
	MaxFileSize int64  // bytes after which a WARC file and those beside it are ended; 0 is 1 GiB
	WAT         bool   // metadata of each answer as JSON, as Common Crawl has it
	WET         bool   // text of each parsed document
	CDXJ        bool   // index of the answers, sorted by SURT
	Software    string // named in warcinfo records
	Now         time.Time
}

// Counts are what was written.
type Counts struct {
	Captures int64    `json:"captures"` // answers
	Records  int64    `json:"records"`  // in WARC files, without warcinfo
	WAT      int64    `json:"wat,omitempty"`
	WET      int64    `json:"wet,omitempty"`
	Bytes    int64    `json:"bytes"` // of all files
	Files    []string `json:"files"` // in order of their making
}

// WARC writes captures into WARC files and what Options ask for beside them. It is used by one
// goroutine: Add for each capture, then Finish, or Drop when something failed.
type WARC struct {
	o      Options
	src    source
	gz     *gzip.Writer
	packed bytes.Buffer
	raw    []byte
	index  sorter
	next   int
	set    *fileSet // nil between files
	counts Counts
}

// fileSet are a WARC file and those beside it.
type fileSet struct{ warc, wat, wet *whole }

func (s *fileSet) files() (out []*whole) {
	for _, f := range []*whole{s.warc, s.wat, s.wet} {
		if f != nil {
			out = append(out, f)
		}
	}
	return out
}

// NewWARC returns an exporter of the crawl in folder crawl.
func NewWARC(crawl string, o Options) (*WARC, error) {
	if o.MaxFileSize == 0 {
		o.MaxFileSize = 1 << 30
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil { //nolint:gosec,mnd // a folder as others make it
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(o.Dir, o.Prefix+"-[0-9]*.warc*"))
	if err == nil && len(old) > 0 {
		err = fmt.Errorf("%s is there already; remove the files of that export, or choose another folder or prefix", old[0])
	}
	w := &WARC{o: o, src: newSource(crawl), index: sorter{dir: o.Dir, most: runBytes}}
	w.gz = gzip.NewWriter(&w.packed)
	w.counts.Files = []string{}
	return w, err
}

// Add writes what there is of a capture.
func (w *WARC) Add(c *query.Capture) error {
	records, err := w.src.all(c)
	if err != nil {
		return err
	}
	if w.set == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	offset := w.set.warc.n
	for _, m := range records {
		if _, err := w.set.warc.Write(m.Packed); err != nil {
			return err
		}
	}
	w.counts.Captures++
	w.counts.Records += int64(len(records))
	if err := w.beside(c, records[0], offset); err != nil {
		return err
	}
	if w.set.warc.n >= w.o.MaxFileSize {
		return w.end()
	}
	return nil
}

// beside writes WAT, WET and index of an answer that was written at offset.
func (w *WARC) beside(c *query.Capture, m segment.Member, offset int64) error {
	name := filepath.Base(w.set.warc.name)
	at, id := m.Get("WARC-Date"), m.Get("WARC-Record-ID")
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return fmt.Errorf("%s: date of its record: %w", c.URL, err)
	}
	common := []segment.Field{{Name: "WARC-Target-URI", Value: c.URL}, {Name: "WARC-Refers-To", Value: id}}
	if w.set.wat != nil {
		b, err := json.Marshal(wat(c, m, name, offset))
		if err != nil {
			return fmt.Errorf("%s: metadata: %w", c.URL, err)
		}
		if err := w.write(w.set.wat, segment.NewRecord("metadata", "application/json", when, b, common...)); err != nil {
			return err
		}
		w.counts.WAT++
	}
	if w.set.wet != nil && c.Parse != nil && c.Text != "" {
		if c.Parse.Language != "" {
			common = append(common, segment.Field{Name: "WARC-Identified-Content-Language", Value: c.Parse.Language})
		}
		text := []byte(c.Text)
		common = append(common, segment.Field{Name: "WARC-Block-Digest", Value: segment.Digest(text)})
		if err := w.write(w.set.wet, segment.NewRecord("conversion", "text/plain", when, text, common...)); err != nil {
			return err
		}
		w.counts.WET++
	}
	if !w.o.CDXJ {
		return nil
	}
	line, err := cdxj(c, m, name, offset, when)
	if err != nil {
		return err
	}
	return w.index.add(line)
}

func cdxj(c *query.Capture, m segment.Member, name string, offset int64, when time.Time) (string, error) {
	e := struct {
		URL      string `json:"url"`
		MIME     string `json:"mime,omitempty"`
		Status   string `json:"status,omitempty"`
		Digest   string `json:"digest,omitempty"`
		Length   string `json:"length"`
		Offset   string `json:"offset"`
		Filename string `json:"filename"`
	}{
		URL: c.URL, MIME: c.Fetch.MIMEType, Digest: m.Get("WARC-Payload-Digest"),
		Length: strconv.Itoa(len(m.Packed)), Offset: strconv.FormatInt(offset, 10), Filename: name,
	}
	if c.Fetch.HTTP != 0 {
		e.Status = strconv.Itoa(c.Fetch.HTTP)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return "", fmt.Errorf("%s: index: %w", c.URL, err)
	}
	return SURT(c.URL) + " " + when.UTC().Format("20060102150405") + " " + strings.TrimSpace(b.String()), nil
}

// begin makes the next files, each with its warcinfo record.
func (w *WARC) begin() error {
	base := filepath.Join(w.o.Dir, fmt.Sprintf("%s-%05d.warc", w.o.Prefix, w.next))
	w.next++
	w.set = &fileSet{}
	for _, f := range []struct {
		to   **whole
		want bool
		end  string
	}{{&w.set.warc, true, ""}, {&w.set.wat, w.o.WAT, ".wat"}, {&w.set.wet, w.o.WET, ".wet"}} {
		if !f.want {
			continue
		}
		var err error
		if *f.to, err = create(base + f.end + ".gz"); err != nil {
			return err
		}
		info := "software: " + w.o.Software + "\r\nformat: WARC File Format 1.1\r\n" +
			"conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\nisPartOf: " + w.o.Prefix + "\r\n"
		r := segment.NewRecord("warcinfo", "application/warc-fields", w.o.Now, []byte(info),
			segment.Field{Name: "WARC-Filename", Value: filepath.Base((*f.to).name)})
		if err := w.write(*f.to, r); err != nil {
			return err
		}
	}
	return nil
}

// write writes a record as one gzip member.
func (w *WARC) write(to *whole, r *segment.Record) error {
	w.raw = r.Append(w.raw[:0])
	w.packed.Reset()
	w.gz.Reset(&w.packed)
	_, err := w.gz.Write(w.raw)
	if err = errors.Join(err, w.gz.Close()); err != nil {
		return err
	}
	_, err = to.Write(w.packed.Bytes())
	return err
}

// end gives the present files their names.
func (w *WARC) end() error {
	set := w.set
	w.set = nil
	var errs []error
	for _, f := range set.files() {
		errs = append(errs, f.finish())
		w.counts.Files = append(w.counts.Files, filepath.Base(f.name))
		w.counts.Bytes += f.n
	}
	return errors.Join(errs...)
}

// Finish ends the files and writes the index.
func (w *WARC) Finish() (Counts, error) {
	if w.set != nil {
		if err := w.end(); err != nil {
			return w.counts, errors.Join(err, w.Drop())
		}
	}
	if w.o.CDXJ && w.counts.Captures > 0 {
		f, err := create(filepath.Join(w.o.Dir, w.o.Prefix+".cdxj"))
		if err == nil {
			if err = w.index.writeTo(f); err != nil {
				f.drop()
			} else if err = f.finish(); err == nil {
				w.counts.Files = append(w.counts.Files, filepath.Base(f.name))
				w.counts.Bytes += f.n
			}
		}
		if err != nil {
			return w.counts, errors.Join(err, w.Drop())
		}
	}
	return w.counts, w.Drop()
}

// Drop closes everything and throws away what is not whole; files that are whole stay.
func (w *WARC) Drop() error {
	if w.set != nil {
		for _, f := range w.set.files() {
			f.drop()
		}
		w.set = nil
	}
	return errors.Join(w.src.Close(), w.index.close())
}
