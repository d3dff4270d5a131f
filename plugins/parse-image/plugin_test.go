package parseimage

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	_ "image/jpeg" // sizes of source images
	_ "image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func parse(t testing.TB, p parser.Parser, body []byte) model.Parse {
	t.Helper()
	out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: "http://host/dir/pic", Body: body}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Parses[0]
}

// moduleImages is the folder of the test images of the library that reads tags.
func moduleImages(t testing.TB) string {
	t.Helper()
	return filepath.Join(libtest.ModuleDir(t, "github.com/bep/imagemeta"), "testdata", "images")
}

func size(w, h string) map[string]string {
	return map[string]string{"image.width": w, "image.height": h}
}

func with(m map[string]string, kv ...string) map[string]string {
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

func TestRealImages(t *testing.T) {
	dir := moduleImages(t)
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	std := filepath.Join(strings.TrimSpace(string(out)), "src", "image")
	const sunrise, who = "Sunrise in Spain", "Bjørn Erik Pedersen"
	docs := []libtest.Real{
		{Format: "jpeg", Path: dir + "/bep/sunrise.jpg", Title: sunrise, Sentence: "Benalmádena, Andalucía, Spain", Meta: with(size("1024", "640"), "exif.Model", "PENTAX K-3 II", "geo.latitude", "36.597442", "geo.longitude", "-4.508460", "dc.creator", who)},
		{Format: "jpeg", Path: dir + "/IPTC-PhotometadataRef-Std2021.1.jpg", Title: "The Title (ref2021.1)", Sentence: "The description aka caption (ref2021.1)", Meta: map[string]string{"image.alt": "This is the Alt Text description to support accessibility in 2021.1"}},
		{Format: "jpeg", Path: dir + "/metadata_demo_iim_and_xmp_only.jpg", Title: "object name here", Sentence: "This is the headline field"},
		{Format: "jpeg", Path: dir + "/metadata_demo_exif_only.jpg", Sentence: "This is a metadata test file.", Meta: map[string]string{"dc.rights": "© Copyright 2017 Carl Seibert metadatamatters.blog (Exif)"}},
		{Format: "jpeg", Path: dir + "/issue-xmp-iptc-misalignment.jpg", Sentence: "aboveTheClouds, alps, bavaria", Meta: map[string]string{"dc.creator": "Lukas Nagel"}},
		{Format: "jpeg", Path: dir + "/hugo-issue-12669.jpg", Meta: with(size("4032", "2268"), "exif.Make", "samsung")},
		{Format: "jpeg", Path: dir + "/hugo-issue-8996.jpg", Meta: with(size("1160", "1430"), "exif.Software", "darktable 3.6.0")},
		{Format: "jpeg", Path: std + "/testdata/video-001.jpeg", Meta: size("150", "103")},
		{Format: "jpeg", Path: std + "/testdata/video-005.gray.jpeg", Meta: size("150", "103")},
		{Format: "jpeg", Path: std + "/testdata/video-001.progressive.jpeg", Meta: size("150", "103")},
		{Format: "png", Path: dir + "/bep/sunrise.png", Sentence: who, Meta: with(size("1024", "640"), "exif.ISO", "100")},
		{Format: "tiff", Path: dir + "/bep/sunrise.tif", Title: sunrise, Sentence: "Malaga, Torremolinos"},
		{Format: "webp", Path: dir + "/bep/sunrise.webp", Title: sunrise, Sentence: who},
		{Format: "webp", Path: dir + "/bep/sunrise_lossless.webp", Meta: size("1024", "640")},
		{Format: "avif", Path: dir + "/bep/sunrise.avif", Title: sunrise, Sentence: who},
		{Format: "heif", Path: dir + "/iphone.heic", Meta: with(size("5712", "4284"), "exif.Model", "iPhone 15 Pro")},
		{Format: "gif", Path: std + "/testdata/triangle-001.gif", Meta: size("256", "128")},
		{Format: "gif", Path: std + "/testdata/video-001.interlaced.gif", Meta: size("150", "103")},
		{Format: "svg", Path: "/usr/share/doc/postgresql-doc-15/html/pagelayout.svg", Sentence: "PageHeaderData Item ItemId", Meta: size("610", "210")},
		{Format: "svg", Path: "/usr/share/doc/postgresql-doc-15/html/genetic-algorithm.svg", Sentence: "evaluate FITNESS of P(t)", Meta: size("583", "580")},
	}
	for _, n := range []string{"basn0g01", "basn0g02", "basn0g04", "basn0g08", "basn2c08", "basn3p01", "basn3p02", "basn3p04", "basn3p08", "basn6a08"} {
		docs = append(docs, libtest.Real{Format: "png", Path: std + "/png/testdata/pngsuite/" + n + ".png", Meta: size("32", "32")})
	}
	boost, excelize := "/usr/share/doc/libboost1.81-doc/doc", libtest.ModuleCache(t)+"/github.com/xuri/excelize/v2@v2.11.1/test/images"
	docs = append(
		docs,
		libtest.Real{Format: "svg", Path: "/usr/share/doc/postgresql-doc-15/html/gin.svg", Sentence: "posting tree"},
		libtest.Real{Format: "gif", Path: excelize + "/excel.gif", Meta: size("200", "128")},
		libtest.Real{Format: "gif", Path: std + "/testdata/video-001.gif", Meta: size("150", "103")},
		libtest.Real{Format: "gif", Path: std + "/testdata/video-001.5bpp.gif", Meta: size("150", "103")},
		libtest.Real{Format: "gif", Path: std + "/testdata/video-005.gray.gif", Meta: size("150", "103")},
	)
	for _, n := range []string{"home", "prev", "next", "warning", "note", "up", "tip"} {
		docs = append(docs, libtest.Real{Format: "svg", Path: boost + "/src/images/" + n + ".svg"})
	}
	for _, n := range []string{"posix_success", "posix_fork_err", "posix_exec_err", "windows_exec"} {
		docs = append(docs, libtest.Real{Format: "svg", Path: boost + "/html/boost_process/" + n + ".svg", Sentence: "on_setup"})
	}
	docs = append(docs, converted(t, []string{
		std + "/testdata/video-001.png", std + "/testdata/video-005.gray.png", std + "/testdata/video-001.rgb.png", std + "/png/testdata/benchRGB.png",
		std + "/png/testdata/benchGray.png", std + "/png/testdata/gray-gradient.png", std + "/png/testdata/pngsuite/basn2c08.png",
		std + "/testdata/video-001.q50.422.jpeg", std + "/testdata/video-005.gray.q50.jpeg", dir + "/bep/sunrise.jpg",
	})...)
	libtest.RealDocuments(t, libtest.Must(t, Plugin(), "").Parser, docs, 10)
	if got := parse(t, libtest.Must(t, Plugin(), "").Parser, []byte("Copyright of some")); !strings.Contains(got.Status.Message, "no image") {
		t.Errorf("a text: %v", got.Status)
	}
}

// converted makes images of formats that few real ones can be had of from real pictures, with the programs of the
// libraries that most software uses for them; what is expected is the size of the source, as image/png and
// image/jpeg tell it. Formats whose program is not on this machine are left out.
func converted(t *testing.T, sources []string) (docs []libtest.Real) {
	t.Helper()
	dir := t.TempDir()
	for format, program := range map[string][]string{
		"avif": {"avifenc", "-s", "10", "IN", "OUT"}, "heif": {"heif-enc", "IN", "-o", "OUT"}, "webp": {"cwebp", "-quiet", "IN", "-o", "OUT"},
	} {
		if _, err := exec.LookPath(program[0]); err != nil {
			t.Logf("%s: no %s on this machine; .ci/run installs it", format, program[0])
			docs = append(docs, libtest.Real{Format: format, Path: filepath.Join(dir, program[0])})
			continue
		}
		for i, source := range sources {
			f, err := os.Open(source)
			if err != nil {
				t.Fatal(err)
			}
			c, _, err := image.DecodeConfig(f)
			_ = f.Close()
			if err != nil {
				t.Fatal(source, err)
			}
			out := filepath.Join(dir, fmt.Sprintf("%d.%s", i, format))
			args := slices.Clone(program[1:])
			for a := range args {
				args[a] = strings.NewReplacer("IN", source, "OUT", out).Replace(args[a])
			}
			if msg, err := exec.Command(program[0], args...).CombinedOutput(); err != nil {
				t.Logf("%s %v: %v: %s", program[0], args, err, msg)
				continue
			}
			title := ""
			if strings.Contains(source, "sunrise") && format != "webp" { // cwebp leaves EXIF out unless told
				title = "Sunrise in Spain"
			}
			docs = append(docs, libtest.Real{Format: format, Path: out, Title: title, Meta: size(strconv.Itoa(c.Width), strconv.Itoa(c.Height))})
		}
	}
	for i, source := range sources[:5] {
		f, err := os.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := image.Decode(f)
		_ = f.Close()
		var b bytes.Buffer
		out := filepath.Join(dir, fmt.Sprintf("%d.gif", i))
		if err = errors.Join(err, gif.Encode(&b, m, nil), os.WriteFile(out, b.Bytes(), 0o600)); err != nil {
			t.Fatal(source, err)
		}
		docs = append(docs, libtest.Real{Format: "gif", Path: out, Meta: size(strconv.Itoa(m.Bounds().Dx()), strconv.Itoa(m.Bounds().Dy()))})
	}
	if _, err := exec.LookPath("gs"); err != nil {
		t.Log("tiff: no gs on this machine; .ci/run installs it")
		return append(docs, libtest.Real{Format: "tiff", Path: filepath.Join(dir, "gs")})
	}
	for i, device := range []string{"tiffgray", "tiff24nc", "tiff48nc", "tiff32nc", "tiffcrle", "tiffg3", "tiffg32d", "tiffg4", "tifflzw", "tiffpack"} {
		out := filepath.Join(dir, device+".tiff")
		dots := 20 + 10*i // to an inch
		if msg, err := exec.Command("gs", "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE="+device, "-dAdjustWidth=0", fmt.Sprintf("-g%dx%d", dots*8, dots*11),
			fmt.Sprintf("-r%d", dots), "-sOutputFile="+out, "-c", "/Helvetica 40 selectfont 72 400 moveto (a page) show showpage").CombinedOutput(); err != nil {
			t.Logf("gs %s: %v: %s", device, err, msg)
			continue
		}
		docs = append(docs, libtest.Real{Format: "tiff", Path: out, Meta: size(strconv.Itoa(dots*8), strconv.Itoa(dots*11))})
	}
	return docs
}

func TestSVG(t *testing.T) {
	got := parse(t, libtest.Must(t, Plugin(), "").Parser, []byte(`<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="s" xmlns:xlink="x" viewBox="0 0 30 20.5" xml:lang="de">`+
		`<title>A chart</title><style>text{}</style><g><title>inner</title></g><desc>of <b>sales</b></desc><a xlink:href="../up"><text>go <tspan>up</tspan></text></a><a href="#x"><text>&a;</text></a></svg>`))
	want := model.Parse{
		URL: "http://host/dir/pic", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "A chart", Language: "de",
		Text:      "A chart\ninner\nof sales\ngo up\n&a;",
		Outlinks:  []model.Outlink{{URL: "http://host/up", Anchor: "go up", Tag: "a"}},
		ParseMeta: model.Metadata{"image.format": {"svg"}, "image.width": {"30"}, "image.height": {"20"}, "outlinks.dropped.unusable": {"1"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSmallFormats(t *testing.T) {
	p := libtest.Must(t, Plugin(), "").Parser
	bmp := append([]byte("BM"), make([]byte, 16)...)
	bmp = append(bmp, 40, 0, 0, 0, 0xe2, 0xff, 0xff, 0xff) // 30 lines from top to bottom
	for _, c := range []struct{ body, w, h string }{
		{string(bmp), "40", "30"},
		{"\x00\x00\x01\x00\x01\x00\x10\x00", "16", "256"},
		{"GIF89a\x05\x00\x06\x00\x00\x00\x00", "5", "6"},
	} {
		got := parse(t, p, []byte(c.body))
		if got.ParseMeta.First("image.width") != c.w || got.ParseMeta.First("image.height") != c.h {
			t.Errorf("%q: got %v, %v", c.body, got.Status, got.ParseMeta)
		}
	}
}

// TestHostile: images made to harm cost one answer each.
func TestHostile(t *testing.T) {
	p := libtest.Must(t, Plugin(), `{"tags": ["*"]}`).Parser
	files, err := filepath.Glob(filepath.Join(moduleImages(t), "corrupt", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corrupt images: %v", err)
	}
	bodies := map[string][]byte{
		"deep svg":      []byte("<svg>" + strings.Repeat("<g>", 1<<20)),
		"svg of titles": []byte("<svg>" + strings.Repeat("<title>a", 1<<18)),
		"entity bomb":   []byte(`<!DOCTYPE svg [<!ENTITY a "` + strings.Repeat("x", 1<<16) + `"><!ENTITY b "` + strings.Repeat("&a;", 1<<10) + `">]><svg><text>` + strings.Repeat("&b;", 1<<10) + `</text></svg>`),
		"huge png":      append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x06\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xffeXIf"), make([]byte, 100)...),
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		bodies[filepath.Base(f)] = b
	}
	for name, body := range bodies {
		begun := time.Now()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := parse(t, p, body)
		runtime.ReadMemStats(&after)
		if !got.Status.OK() && got.Status.Message == "" {
			t.Errorf("%s: failed without a reason", name)
		}
		if d := time.Since(begun); d > 60*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 256<<20 {
			t.Errorf("%s: heap grew by %d MiB", name, grown>>20)
		}
	}
}

// TestTruncatedImages: headers that are there count.
func TestTruncatedImages(t *testing.T) {
	p := libtest.Must(t, Plugin(), "").Parser
	dir := moduleImages(t)
	for _, name := range []string{"bep/sunrise.jpg", "bep/sunrise.webp", "bep/sunrise.png", "bep/sunrise.avif", "bep/sunrise.tif"} {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{12, len(body) / 10, len(body) / 2, len(body) - 1} {
			got := parse(t, p, body[:n])
			if !got.Status.OK() && got.Status.Message == "" {
				t.Errorf("%s cut at %d: failed without a reason", name, n)
			}
			if strings.HasSuffix(name, "jpg") && n == len(body)/2 && got.Title != "Sunrise in Spain" {
				t.Errorf("%s cut at %d: title %q, %v", name, n, got.Title, got.Status)
			}
		}
	}
}

// TestBrokenBytes changes bytes of sound images: none may be a crash.
func TestBrokenBytes(t *testing.T) {
	p := libtest.Must(t, Plugin(), "").Parser
	r := rand.New(rand.NewPCG(3, 4))
	dir := moduleImages(t)
	for _, name := range []string{"bep/sunrise.jpg", "bep/sunrise.webp", "bep/sunset.avif", "utf8-in-ztxt.png"} {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			b := bytes.Clone(body)
			for range 1 + r.IntN(20) {
				b[r.IntN(min(len(b), 20_000))] = byte(r.IntN(256))
			}
			parse(t, p, b)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("<svg><title>a</title><a href='b'/></svg>"))
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x10Exif\x00\x00II*\x00\x08\x00\x00\x00"))
	f.Add([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x00\x00\x00\x00"))
	p := libtest.Must(f, Plugin(), "").Parser
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := parse(t, p, body); !got.Status.OK() && got.Status.Message == "" {
			t.Error("failed without a reason")
		}
	})
}

func TestConformance(t *testing.T) { plugintest.Run(t, Plugin(), plugintest.Options{}) }

func BenchmarkParse(b *testing.B) {
	p := libtest.Must(b, Plugin(), "").Parser
	for _, name := range []string{"bep/sunrise.jpg", "bep/sunrise.png", "bep/sunrise.avif"} {
		body, err := os.ReadFile(filepath.Join(moduleImages(b), name))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(filepath.Base(name), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				parse(b, p, body)
			}
		})
	}
}
