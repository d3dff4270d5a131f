package hadoop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// vint is WritableUtils.writeVLong.
func vint(n int64) []byte {
	if n >= -112 && n <= 127 {
		return []byte{byte(n)}
	}
	first := -112
	if n < 0 {
		n, first = ^n, -120
	}
	var b []byte
	for m := n; m > 0; m >>= 8 {
		b = append([]byte{byte(m)}, b...)
	}
	return append([]byte{byte(first - len(b))}, b...)
}

func text(s string) []byte    { return append(vint(int64(len(s))), s...) }
func be32(n int) []byte       { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
func utf(s string) []byte     { return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...) }
func flag(on bool) []byte     { return []byte{map[bool]byte{true: 1}[on]} }
func join(b ...[]byte) []byte { return bytes.Join(b, nil) }

// packers are writers of the codecs; framed ones make several chunks and blocks.
func packers() map[string]func([]byte) []byte {
	frame := func(block func([]byte) []byte) func([]byte) []byte {
		return func(b []byte) (out []byte) {
			if len(b) == 0 {
				return be32(0)
			}
			for len(b) > 0 {
				n := min(len(b), 50)
				out = append(out, be32(n)...)
				for _, part := range [][]byte{b[:n/2], b[n/2 : n]} {
					if len(part) > 0 {
						p := block(part)
						out = append(append(out, be32(len(p))...), p...)
					}
				}
				b = b[n:]
			}
			return out
		}
	}
	stream := func(w io.WriteCloser, out *bytes.Buffer, b []byte) []byte {
		w.Write(b)
		w.Close()
		return out.Bytes()
	}
	zlibbed := func(b []byte) []byte { var o bytes.Buffer; return stream(zlib.NewWriter(&o), &o, b) }
	return map[string]func([]byte) []byte{
		"DefaultCodec": zlibbed, "DeflateCodec": zlibbed,
		"GzipCodec": func(b []byte) []byte { var o bytes.Buffer; return stream(gzip.NewWriter(&o), &o, b) },
		"ZStandardCodec": func(b []byte) []byte {
			var o bytes.Buffer
			w, _ := zstd.NewWriter(&o)
			return stream(w, &o, b)
		},
		"SnappyCodec": frame(func(b []byte) []byte { return s2.EncodeSnappy(nil, b) }),
		"Lz4Codec": frame(func(b []byte) []byte {
			out := make([]byte, lz4.CompressBlockBound(len(b))+64)
			n, err := lz4.CompressBlock(b, out, nil)
			if err != nil {
				panic(err)
			}
			if n == 0 { // what can't be made smaller: one sequence of literals
				out = append(append(out[:0], byte(min(len(b), 15)<<4)), b...)
				if len(b) >= 15 {
					panic("too long for the test")
				}
				return out
			}
			return out[:n]
		}),
	}
}

type rec struct{ Key, Value string }

const syncMark = "0123456789abcdef"

// sequence writes a SequenceFile of Texts, as Hadoop's classes do.
func sequence(version int, codec string, blocks bool, recs []rec) []byte {
	pack := packers()[codec]
	name := text
	if version < 4 {
		name = utf
	}
	const class = "org.apache.hadoop.io.Text"
	out := join([]byte("SEQ"), []byte{byte(version)}, name(class), name(class))
	if version > 2 {
		out = append(out, flag(pack != nil)...)
	}
	if version >= 4 {
		out = append(out, flag(blocks)...)
	}
	if version >= 5 && pack != nil {
		out = append(out, text(codecPackage+codec)...)
	}
	if version >= 6 {
		out = join(out, be32(1), text("made"), text("by a test"))
	}
	mark := join(be32(0xffffffff), []byte(syncMark))
	if version >= 2 {
		out = append(out, syncMark...)
	}
	for i, r := range recs {
		if blocks {
			break
		}
		if i%3 == 2 && version >= 2 {
			out = append(out, mark...)
		}
		k, v := text(r.Key), text(r.Value)
		if pack != nil {
			v = pack(v)
		}
		out = join(out, be32(len(k)+len(v)), be32(len(k)), k, v)
	}
	for len(recs) > 0 && blocks {
		n := min(len(recs), 4)
		var parts [4][]byte
		for _, r := range recs[:n] {
			k, v := text(r.Key), text(r.Value)
			parts[0], parts[1] = append(parts[0], vint(int64(len(k)))...), append(parts[1], k...)
			parts[2], parts[3] = append(parts[2], vint(int64(len(v)))...), append(parts[3], v...)
		}
		out = join(out, mark, vint(int64(n)))
		for _, p := range parts {
			p = pack(p)
			out = join(out, vint(int64(len(p))), p)
		}
		recs = recs[n:]
	}
	return out
}

func records() (out []rec) {
	for i := range 10 {
		out = append(out, rec{fmt.Sprintf("http://a.test/%d", i), strings.Repeat(fmt.Sprintf("value %d, ", i), i*5)})
	}
	return out
}

// read reads all of a file of Texts.
func read(b []byte, o Options) (out []rec, err error) {
	f, err := newFile("f", bytes.NewReader(b), int64(len(b)), o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		k, v, err := f.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		key, err := f.TextKey(k)
		if err != nil {
			return out, err
		}
		d := NewDecoder(v)
		r := rec{key, d.Text()}
		if err := d.Finish(); err != nil {
			return out, f.Wrong(err)
		}
		out = append(out, r)
	}
}

func TestFile(t *testing.T) {
	type form struct {
		version int
		codec   string
		blocks  bool
	}
	forms := []form{{1, "", false}, {2, "", false}, {3, "", false}, {3, "DefaultCodec", false}, {4, "", false}, {4, "DefaultCodec", true}, {5, "GzipCodec", false}, {6, "", false}}
	for codec := range packers() {
		forms = append(forms, form{6, codec, false}, form{6, codec, true}, form{5, codec, true})
	}
	for _, c := range forms {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			b := sequence(c.version, c.codec, c.blocks, records())
			got, err := read(b, Options{})
			must(t, err)
			if d := cmp.Diff(records(), got); d != "" {
				t.Fatal(d)
			}
			if got, err := read(sequence(c.version, c.codec, c.blocks, nil), Options{}); err != nil || got != nil {
				t.Fatalf("an empty file: %v, %v", got, err)
			}
			// However it is cut, what is read is a beginning of what was written, and the error says where.
			for n := 0; n < len(b); n += 1 + len(c.codec)/2 {
				got, err := read(b[:n], Options{})
				if len(got) > len(records()) || len(got) > 0 && cmp.Diff(records()[:len(got)], got) != "" {
					t.Fatalf("cut to %d bytes: read %v", n, got)
				}
				var fe *FileError
				if err != nil && !errors.As(err, &fe) {
					t.Fatalf("cut to %d bytes: %v", n, err)
				}
				if err == nil && c.blocks && len(got)%4 != 0 {
					t.Fatalf("cut to %d bytes: read %d records", n, len(got))
				}
			}
		})
	}
}

func TestFileErrors(t *testing.T) {
	plain := sequence(6, "", false, records())
	head := len(sequence(6, "", false, nil))
	changed := func(b []byte, at int, to ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], to)
		return b
	}
	second := bytes.Index(plain, []byte("http://a.test/1")) - 9
	for _, c := range []struct {
		name, want string
		data       []byte
		limit      int64
	}{
		{name: "nothing", want: "f: its head, at byte 0: damaged: it is no SequenceFile"},
		{name: "something else", data: []byte("PK\x03\x04 and more"), want: "f: its head, at byte 4: damaged: it is no SequenceFile"},
		{name: "version", data: changed(plain, 3, 9), want: "f: its head, at byte 4: damaged: it has version 9; 1 to 6 can be read"},
		{name: "cut in the head", data: plain[:40], want: "f: its head, at byte 31: damaged: 25 bytes are wanted at byte 31, the file has 40"},
		{name: "cut in a record", data: plain[:second+10], want: fmt.Sprintf("f: record 2, at byte %d: damaged: 62 bytes are wanted at byte %d, the file has %d", second, second+8, second+10)},
		{name: "key longer than record", data: changed(plain, head+4, 0x7f), want: fmt.Sprintf("f: record 1, at byte %d: damaged: the record has 17 bytes, its key %d", head, 0x7f000010)},
		{name: "negative length", data: changed(plain, head, 0xfe), want: fmt.Sprintf("f: record 1, at byte %d: damaged: the record has -33554415 bytes, its key 16", head)},
		{name: "sync", data: bytes.ReplaceAll(plain, []byte("\xff\xff\xff\xff"+syncMark), []byte("\xff\xff\xff\xffX"+syncMark[1:])), want: "damaged: there is no sync mark at byte"},
		{name: "too long", data: plain, limit: 100, want: "the record has 107 bytes, more than the limit of 100"},
		{name: "unpacks to too much", data: sequence(6, "DefaultCodec", false, records()), limit: 300, want: "unpacks to more than the limit of 284 bytes"},
		{name: "unpacks to too much in a block", data: sequence(6, "SnappyCodec", true, records()), limit: 100, want: "unpacks to more than the limit of 84 bytes"},
		{name: "codec", data: bytes.ReplaceAll(sequence(6, "GzipCodec", true, records()), []byte("GzipCodec"), []byte("LzopCodec")), want: "it is compressed with org.apache.hadoop.io.compress.LzopCodec, which can't be read; write it again with one of BZip2Codec, DefaultCodec"},
		{name: "class of keys", data: bytes.Replace(plain, []byte("io.Text"), []byte("io.Tixt"), 1), want: "keys are of class org.apache.hadoop.io.Tixt, want org.apache.hadoop.io.Text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.data, Options{MaxRecord: c.limit})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestDamage changes each byte: no change may be read as something else where the codec has a checksum.
func TestDamage(t *testing.T) {
	for _, codec := range []string{"DefaultCodec", "GzipCodec", "ZStandardCodec"} {
		b := sequence(6, codec, true, records())
		quiet := 0
		for i := len(sequence(6, codec, true, nil)); i < len(b); i++ {
			b[i] ^= 0x10
			got, err := read(b, Options{})
			b[i] ^= 0x10
			if err == nil && cmp.Diff(records(), got) != "" {
				t.Errorf("%s: byte %d changed, and read without an error", codec, i)
			} else if err == nil {
				quiet++
			}
		}
		if quiet > len(b)/4 { // bytes that mean nothing: flags and times of gzip
			t.Errorf("%s: %d of %d changes were not seen", codec, quiet, len(b))
		}
	}
}

func crcOf(b []byte, per int) []byte {
	out := append([]byte("crc\x00"), be32(per)...)
	for len(b) > 0 {
		n := min(per, len(b))
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(b[:n]))
		b = b[n:]
	}
	return out
}

func TestChecksums(t *testing.T) {
	b := sequence(6, "", false, records())
	for _, c := range []struct {
		name, want string
		data, crc  []byte
	}{
		{name: "right", data: b, crc: crcOf(b, 64)},
		{name: "a portion is the file", data: b, crc: crcOf(b, len(b))},
		{name: "a byte changed", data: bytes.Replace(b, []byte("value 3"), []byte("value 4"), 1), crc: crcOf(b, 64), want: "have another checksum than the file beside it (.crc) says"},
		{name: "cut between portions and records", data: b[:bytes.Index(b, []byte("http://a.test/1"))-9], crc: crcOf(b, 16), want: "checksum"},
		{name: "too few sums", data: b, crc: crcOf(b, 64)[:16], want: "the checksum file has none for bytes from 128 on"},
		{name: "no checksums", data: b, crc: []byte("something"), want: "it is no checksum file"},
		{name: "cut", data: b, crc: []byte("crc"), want: "read checksums: unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "part-r-00000")
			must(t, os.WriteFile(name, c.data, 0o600))
			must(t, os.WriteFile(filepath.Join(filepath.Dir(name), ".part-r-00000.crc"), c.crc, 0o600))
			f, err := Open(name, Options{})
			n := 0
			for err == nil {
				if _, _, err = f.Next(); err == nil {
					n++
				}
			}
			if f != nil {
				must(t, f.Close())
			}
			if c.want == "" && (!errors.Is(err, io.EOF) || n != len(records())) {
				t.Fatalf("%d records, %v", n, err)
			}
			if c.want != "" && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
		})
	}
}

// mapFile writes a MapFile into dir, with an index that names a record at byte at.
func mapFile(t *testing.T, dir string, recs []rec, at int64) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "data"), sequence(6, "", false, recs), 0o600))
	index := sequence(6, "", false, nil)
	k := text("k")
	v := binary.BigEndian.AppendUint64(nil, uint64(at))
	must(t, os.WriteFile(filepath.Join(dir, "index"), join(index, be32(len(k)+len(v)), be32(len(k)), k, v), 0o600))
	return filepath.Join(dir, "data")
}

func TestSorted(t *testing.T) {
	dir := t.TempDir()
	all := records()
	mapFile(t, filepath.Join(dir, "part-r-00000"), []rec{all[0], all[3], all[3], all[9]}, 100)
	mapFile(t, filepath.Join(dir, "part-r-00001"), nil, 0)
	mapFile(t, filepath.Join(dir, "part-r-00002"), []rec{all[1], all[2], all[4]}, 100)
	must(t, os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o600))
	names, err := Parts(dir)
	must(t, err)
	if len(names) != 3 {
		t.Fatal(names)
	}
	s, err := OpenSorted(names, Options{})
	must(t, err)
	var got []string
	for {
		if len(got)%2 == 0 { // peeking changes nothing
			_, _, err := s.Peek()
			must(t, err)
		}
		r, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		got = append(got, strings.TrimPrefix(r.Key, "http://a.test/"))
		if want := string(text(all[r.Key[len(r.Key)-1]-'0'].Value)); string(r.Value) != want {
			t.Errorf("%s: value %q, want %q", r.Key, r.Value, want)
		}
	}
	must(t, s.Close())
	if d := cmp.Diff([]string{"0", "1", "2", "3", "3", "4", "9"}, got); d != "" {
		t.Error(d)
	}
	if names, err := Parts(filepath.Join(dir, "nowhere")); names != nil || err != nil {
		t.Error(names, err)
	}
	if names, err := Parts(filepath.Join(dir, "part-r-00000")); err != nil || len(names) != 1 {
		t.Error(names, err)
	}
	unordered := mapFile(t, filepath.Join(dir, "x"), []rec{all[2], all[1]}, 100)
	short := mapFile(t, filepath.Join(dir, "y"), all, 1<<20)
	for name, want := range map[string]string{unordered: "keys of a MapFile ascend", short: "one of them is not whole"} {
		s, err := OpenSorted([]string{name}, Options{})
		for err == nil {
			_, err = s.Next()
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if s != nil {
			must(t, s.Close())
		}
	}
}

func TestVInt(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 127, -112, 128, -113, 255, 256, -256, 65535, 1 << 31, -(1 << 31), math.MaxInt64, math.MinInt64} {
		d := NewDecoder(vint(n))
		if got := d.VInt64(); got != n || d.Finish() != nil {
			t.Errorf("%d: got %d, %v", n, got, d.Err())
		}
		if got, size, err := readVInt(bytes.NewReader(vint(n))); got != n || size != len(vint(n)) || err != nil {
			t.Errorf("%d: got %d of %d bytes, %v", n, got, size, err)
		}
	}
}

func TestUTF(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "": "", "\xc0\x80x": "\x00x", "gr\xc3\xb6\xc3\x9fe": "größe", "\xe9\xb7\xba": "鷺", "\xed\xa0\xbd\xed\xb0\xa6": "🐦",
	} {
		d := NewDecoder(utf(in))
		if got := d.UTF(); got != want || d.Finish() != nil {
			t.Errorf("%q: got %q, %v", in, got, d.Err())
		}
	}
	d := NewDecoder(utf("\xff"))
	if d.UTF(); d.Err() == nil {
		t.Error("no error")
	}
}

func TestMap(t *testing.T) {
	entry := func(k string, id int8, v ...byte) []byte { return join([]byte{0x8c}, text(k), []byte{byte(id)}, v) }
	for _, c := range []struct {
		name, want, err string
		in              []byte
	}{
		{name: "empty", in: join([]byte{0}, be32(0)), want: "{}"},
		{
			name: "all", in: join([]byte{2, 1}, utf("org.apache.hadoop.io.DoubleWritable"), []byte{2}, utf("org.apache.hadoop.io.ShortWritable"), be32(9),
				entry("text", -116, text("v")...), entry("int", -123, 0xff, 0xff, 0xff, 0xfe), entry("long", -122, 0, 0, 0, 1, 0, 0, 0, 0),
				entry("float", -124, 0x3e, 0x80, 0, 0), entry("bool", -126, 1), entry("bytes", -125, 0, 0, 0, 2, 9, 0xab), entry("null", -119),
				entry("double", 1, 0xbe, 0x90, 0xc6, 0xf7, 0xa0, 0xb5, 0xed, 0x8d), entry("short", 2, 1, 0x2c)),
			want: "{text=v, int=-2, long=4294967296, float=0.25, bool=true, bytes=09 ab, null=(null), double=-2.5E-7, short=300}",
		},
		{name: "map in a map", in: join([]byte{0}, be32(1), entry("m", -121, join([]byte{0}, be32(1), entry("x", -114, vint(300)...))...)), want: "{m={x=300}}"},
		{name: "unknown class", in: join([]byte{1, 1}, utf("com.example.Thing"), be32(2), entry("a", -119), entry("b", 1, 1, 2, 3)), want: "{a=(null)}", err: "values of class com.example.Thing can't be read"},
		{name: "no class", in: join([]byte{0}, be32(1), entry("b", 77, 1, 2)), want: "{}", err: "no class has number 77"},
		{name: "count", in: join([]byte{0}, be32(1<<30)), want: "{}", err: "1073741824 things are said to follow byte 5, there are 0 bytes"},
		{name: "deep", in: bytes.Repeat(join([]byte{0}, be32(1), []byte{0x8c}, text("m"), []byte{0x87}), 20), want: "", err: "maps lie too deep in each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDecoder(c.in)
			got := Standard().Map(d)
			if c.want != "" && got.String() != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			err := d.Finish()
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}

// TestJavaFloat has what Java's Float.toString and Double.toString print.
func TestJavaFloat(t *testing.T) {
	for want, v := range map[string]fmt.Stringer{
		"1.0": Float(1), "0.0": Float(0), "0.1": Float(0.1), "2592000.0": Float(2592000), "8.64E7": Float(86400000), "1.0E-4": Float(1e-4), "NaN": Float(math.NaN()),
		"Infinity": Double(math.Inf(1)), "-Infinity": Double(math.Inf(-1)), "1.0E10": Double(1e10), "-2.5E-7": Double(-2.5e-7), "0.001": Double(0.001), "123456.789": Double(123456.789),
	} {
		if got := v.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, s := range [][]byte{
		sequence(6, "", false, records()[:3]), sequence(6, "SnappyCodec", true, records()[:3]), sequence(6, "Lz4Codec", false, records()[:3]),
		sequence(4, "DefaultCodec", true, records()[:2]), sequence(6, "ZStandardCodec", true, records()[:2]), sequence(1, "", false, records()[:2]),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		recs, err := read(b, Options{MaxRecord: 1 << 20})
		var fe *FileError
		if err != nil && !errors.As(err, &fe) {
			t.Fatalf("%d records, then an error that names no place: %v", len(recs), err)
		}
	})
}

func FuzzMap(f *testing.F) {
	f.Add(join([]byte{1, 1}, utf("org.apache.hadoop.io.DoubleWritable"), be32(1), []byte{0x8c}, text("k"), []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewDecoder(b)
		if m := Standard().Map(d); d.Err() == nil && len(m) > len(b) {
			t.Fatal("more entries than bytes")
		}
	})
}
