package parsepdf

import (
	"bytes"
	"compress/zlib"
	"io"
)

const (
	maxObjects  = 1_000_000 // of one document
	maxNumber   = 4_000_000 // of an object; PDFium's limit is 4 Mi, what is added gets the numbers between
	maxTrailers = 16
	scanTimes   = 16 // bytes looked at, in lengths of the document and of what is unpacked of it
)

// object is one whole object of a document, or a stream that the document's end cuts.
type object struct {
	num    int
	at     int    // of its number in the document, or of the object stream it is in
	index  int    // in that object stream
	packed int    // number of that object stream, 0 for none
	value  []byte // as written
	stream []byte // nil for none
	cut    bool
}

// scan is what can be found in a document without its table of objects.
type scan struct {
	body     []byte
	objects  map[int]*object
	trailers []dict
	unpacked int // bytes that may still be unpacked
	budget   int // bytes that may still be looked at
}

// scanObjects finds the whole objects of body. What it looks at is bounded, and what it
// unpacks, too; it keeps body.
func scanObjects(body []byte, unpacked int) *scan {
	s := &scan{body: body, objects: map[int]*object{}, unpacked: unpacked, budget: scanTimes * (len(body) + 1<<10)}
	var containers []*object
	for at := 0; s.budget > 0 && len(s.objects) < maxObjects; {
		i := bytes.Index(body[at:], []byte("obj"))
		if i < 0 {
			break
		}
		at += i + len("obj")
		num, start, ok := headerBefore(body, at-len("obj"))
		if !ok {
			continue
		}
		o := &object{num: num, at: start}
		begin := skipSpace(body, at)
		end, ok := s.read(o, begin)
		s.budget -= end - begin
		if !ok {
			continue
		}
		at = end
		if d := s.header(o); o.stream != nil && d.is("Type", "ObjStm") {
			containers = append(containers, o)
		} else if o.stream != nil && d.is("Type", "XRef") && !o.cut && len(s.trailers) < maxTrailers {
			s.trailers = append(s.trailers, d)
		}
		s.put(o)
	}
	s.readTrailers()
	if s.trailer("Encrypt") == nil {
		for _, c := range containers {
			s.unpack(c)
		}
	}
	return s
}

// put notes an object; of several with one number the last one counts.
func (s *scan) put(o *object) {
	old := s.objects[o.num]
	if o.num <= maxNumber && (old == nil || !o.cut && (o.at > old.at || o.at == old.at && o.packed > 0)) {
		s.objects[o.num] = o
	}
}

// headerBefore reads the "12 0 " that stands before the keyword obj at at.
func headerBefore(b []byte, at int) (num, start int, ok bool) {
	back := func(skip func(byte) bool, limit int) int {
		n := 0
		for at > 0 && n < limit && skip(b[at-1]) {
			at--
			n++
		}
		return n
	}
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	if back(isSpace, 4) == 0 || back(digit, 5) == 0 || back(isSpace, 4) == 0 || back(digit, 9) == 0 {
		return 0, 0, false
	}
	if at > 0 && digit(b[at-1]) {
		return 0, 0, false
	}
	num, _, _ = number(b, at)
	return num, at, num > 0
}

// read reads the value at at, and the stream after it, and returns where it ends.
func (s *scan) read(o *object, at int) (end int, ok bool) {
	if end, ok = skipValue(s.body, at, 0); !ok {
		return end, false
	}
	o.value = s.body[at:end]
	if o.value[0] != '<' || !bytes.HasPrefix(o.value, []byte("<<")) {
		return end, true
	}
	data := skipSpace(s.body, end)
	if !bytes.HasPrefix(s.body[data:], []byte("stream")) {
		return end, true
	}
	data += len("stream")
	if bytes.HasPrefix(s.body[data:], []byte("\r\n")) {
		data += 2
	} else if data < len(s.body) && (s.body[data] == '\n' || s.body[data] == '\r') {
		data++
	}
	n := s.length(o)
	rest := s.body[data:]
	if n >= 0 && n < len(rest) && bytes.HasPrefix(rest[skipSpace(rest, n):], []byte("endstream")) {
		o.stream = rest[:n]
		return data + n, true
	}
	if n = bytes.Index(rest, []byte("endstream")); n >= 0 {
		o.stream = rest[:n]
		return data + n, true
	}
	o.stream, o.cut = rest, true
	return len(s.body), true
}

// length returns what a stream says of its length, -1 when that is not known yet.
func (s *scan) length(o *object) int {
	raw := s.header(o)["Length"]
	if num, ok := reference(raw); ok {
		if l := s.objects[num]; l != nil {
			raw = l.value
		}
	}
	return integer(raw)
}

// header returns an object's dictionary, nil when it is something else.
func (s *scan) header(o *object) dict {
	if o == nil {
		return nil
	}
	return s.dict(o.value)
}

// dict reads a dictionary, nil when raw is something else or enough was looked at.
func (s *scan) dict(raw []byte) dict {
	if s.budget -= len(raw); s.budget < 0 {
		return nil
	}
	return dictOf(raw)
}

// references returns the objects that an array refers to.
func (s *scan) references(raw []byte) []int {
	if s.budget -= len(raw); s.budget < 0 {
		return nil
	}
	return referencesIn(raw, maxKids)
}

// readTrailers reads the dictionaries after the keyword trailer.
func (s *scan) readTrailers() {
	for at := 0; s.budget > 0 && len(s.trailers) < 2*maxTrailers; {
		i := bytes.Index(s.body[at:], []byte("trailer"))
		if i < 0 {
			return
		}
		at += i + len("trailer")
		from := skipSpace(s.body, at)
		end, ok := skipValue(s.body, from, 0)
		s.budget -= end - from
		if d := s.dict(s.body[from:end]); ok && d != nil {
			s.trailers = append(s.trailers, d)
		}
	}
}

// trailer returns the value of a key of the last trailer that has it.
func (s *scan) trailer(key string) []byte {
	for i := len(s.trailers) - 1; i >= 0; i-- {
		if v := s.trailers[i][key]; v != nil {
			return v
		}
	}
	return nil
}

// unpack finds the objects in an object stream (7.5.7). Those of a stream that is cut
// are kept when they are whole.
func (s *scan) unpack(c *object) {
	d := s.header(c)
	n, first := integer(d["N"]), integer(d["First"])
	if n <= 0 || first <= 0 {
		return
	}
	data, whole := s.inflate(d, c.stream, s.unpacked)
	if first > len(data) {
		return
	}
	if whole {
		data = append(data, '\n') // ends the last word
	}
	head := data[:first]
	for at, i := 0, 0; i < n && len(s.objects) < maxObjects; i++ {
		num, end, ok := number(head, skipSpace(head, at))
		off, next, ok2 := number(head, skipSpace(head, end))
		if !ok || !ok2 || first+off >= len(data) {
			return
		}
		at = next
		begin := skipSpace(data, first+off)
		end, ok = skipValue(data, begin, 0)
		if !ok || num == 0 {
			continue
		}
		o := &object{num: num, at: c.at, index: i, packed: c.num, value: data[begin:end]}
		if c.cut || !whole {
			o.packed = -1
		}
		s.put(o)
	}
}

// inflate unpacks at most limit bytes of a stream and reports whether that was all of
// it. It counts as unpacked.
func (s *scan) inflate(d dict, data []byte, limit int) (out []byte, whole bool) {
	limit = min(limit, s.unpacked)
	filter := bytes.Trim(d["Filter"], "[] \r\n\t")
	var err error
	switch {
	case bytes.Contains(d["DecodeParms"], []byte("Predictor")):
		return nil, false
	case len(filter) == 0:
		out = bytes.Clone(data[:min(len(data), limit)])
	case string(filter) == "/FlateDecode" || string(filter) == "/Fl":
		z, zerr := zlib.NewReader(bytes.NewReader(data))
		if zerr != nil {
			return nil, false
		}
		out, err = io.ReadAll(io.LimitReader(z, int64(limit)))
	default:
		return nil, false
	}
	s.unpacked -= len(out)
	s.budget += scanTimes * len(out)
	return out, err == nil && len(out) < limit
}
