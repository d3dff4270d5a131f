package testweb

import (
	"encoding/binary"
	"strconv"

	"github.com/klauspost/compress/gzip"
)

const tail = "</body></html>\n"

// html is one HTML page being written.
type html struct {
	w       *Web
	at      ref    // the page asked for
	pg      page   // of the page the content is from
	number  int32  // page number whose word it holds
	edition uint32 // counts changes from 0
	links   bool   // whether it has any
	refresh bool
	robots  string // content of meta robots, "" for none
	charset *charset
	decl    declaration
	length  int
}

// append writes the page without byte order mark: ASCII but for the block of its charset.
func (d *html) append(dst []byte) []byte {
	w, h, p := d.w, d.pg.srcHost, d.pg.srcPage
	start := len(dst)
	r := w.rng(saltText, h, p)
	dst = append(dst, "<!DOCTYPE html>\n<html lang=\"en\"><head>"...)
	switch d.decl {
	case byMeta, notByAny:
		dst = append(dst, "<meta charset=\""...)
		dst = append(append(dst, d.charset.name...), "\">"...)
	case byBoth:
		dst = append(dst, "<meta charset=\"ibm866\">"...)
	}
	dst = append(dst, "<title>"...)
	title := len(dst)
	for i := range 3 + r.below(3) {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, w.text.word(&r)...)
	}
	dst[title] -= 'a' - 'A'
	dst = append(dst, "</title>"...)
	if d.robots != "" {
		dst = append(dst, "<meta name=\"robots\" content=\""...)
		dst = append(append(dst, d.robots...), "\">"...)
	}
	if d.refresh {
		dst = d.appendRefresh(dst)
	}
	dst = append(dst, "</head><body>\n<p>Page zq"...)
	dst = strconv.AppendInt(dst, int64(d.number), 10)
	dst = append(dst, "x of hq"...)
	dst = strconv.AppendInt(dst, int64(h), 10)
	dst = append(dst, 'x')
	if d.edition > 0 {
		dst = append(dst, ", edition "...)
		dst = strconv.AppendUint(dst, uint64(d.edition), 10)
		r.next() // other text
	}
	dst = append(dst, ".</p>\n"...)
	if d.charset.block != "" {
		dst = append(append(append(dst, "<p>"...), d.charset.block...), "</p>\n"...)
	}
	if d.links {
		dst = d.appendLinks(dst)
	}
	dst = w.text.fill(dst, start+d.length-len(tail), &r, "<p>", "</p>\n")
	return append(dst, tail...)
}

func (d *html) appendLinks(dst []byte) []byte {
	w := d.w
	var room [100]link
	links := w.linksOf(room[:0], d.pg.srcHost, d.pg.srcPage, d.pg.bait)
	r := w.rng(saltText, d.pg.srcHost, ^d.pg.srcPage)
	from := ref{kind: kindPage, host: d.pg.srcHost, a: d.pg.srcPage}
	dst = append(dst, "<ul>\n"...)
	for _, l := range links {
		dst = append(dst, "<li>"...)
		if l.nofollow && d.pg.fate != fateNoFollow {
			dst = d.appendBait(dst, from, l.to, &r)
		} else {
			form := 0
			if r.float() < w.cfg.Shares.MessyLinks {
				form = 1 + int(r.below(int32(len(anchors)-1)))
			}
			dst = append(dst, anchors[form][0]...)
			dst = w.appendHref(dst, from, l.to, &r, d.pg.fate == fateOriginal)
			dst = append(dst, anchors[form][1]...)
			dst = w.appendAnchor(dst, &r)
			dst = append(dst, anchors[form][2]...)
		}
		dst = append(dst, "</li>\n"...)
	}
	return append(dst, "</ul>\n"...)
}

// anchors are the ways to write a link, the usual one first: what stands before the address, before the
// text and after it.
var anchors = [...][3]string{
	{`<a href="`, `">`, `</a>`},
	{`<a href='`, `'>`, `</a>`},
	{`<A HREF=`, `>`, `</A >`},
	{"<a class=\"x > y\"\n\thref = \" ", "\n\" title='a \"b\" c'>", "</a\n>"},
	{`<a data-href="/nowhere" href="`, `" href="/nowhere"><b>`, `</b></a>`},
}

// baits are the ways to name a URL that is not to be followed.
var baits = [...][3]string{
	{`<a rel="nofollow" href="`, `">`, `</a>`},
	{`<a rel='external NoFollow' href="`, `">`, `</a>`},
	{`<!-- <a href="`, `">`, `</a> -->`},
	{`<script>var x = '<a href="`, `">`, `<\/a>';</script>`},
	{`<textarea><a href="`, `">`, `</a></textarea>`},
}

func (d *html) appendBait(dst []byte, from, to ref, r *rng) []byte {
	form := &baits[r.below(int32(len(baits)))]
	dst = append(dst, form[0]...)
	dst = d.w.appendHref(dst, from, to, r, false)
	dst = append(dst, form[1]...)
	dst = d.w.appendAnchor(dst, r)
	return append(dst, form[2]...)
}

func (w *Web) appendAnchor(dst []byte, r *rng) []byte {
	dst = append(dst, w.text.word(r)...)
	dst = append(dst, ' ')
	return append(dst, w.text.word(r)...)
}

// appendRefresh writes a meta refresh in one of the forms that the HTML standard's shared declarative
// refresh steps understand.
func (d *html) appendRefresh(dst []byte) []byte {
	r := d.w.rng(saltCode, d.at.host, ^d.at.a)
	forms := [...][2]string{{"; url=", ""}, {";URL='", "'"}, {" ;  Url = ", " "}, {",", ""}}
	form := forms[r.below(int32(len(forms)))]
	dst = append(dst, "<meta http-equiv=\"refresh\" content=\""...)
	dst = strconv.AppendInt(dst, int64(d.pg.n), 10)
	dst = append(dst, form[0]...)
	dst = d.w.appendTarget(dst, d.at, d.w.next(d.at), &r)
	dst = append(dst, form[1]...)
	return append(dst, "\">"...)
}

// appendTarget writes an address for a redirect, in the host mostly without its name.
func (w *Web) appendTarget(dst []byte, from, to ref, r *rng) []byte {
	if to.host == from.host && r.float() < 0.6 {
		return w.appendPath(dst, to)
	}
	return w.appendURL(dst, to)
}

// plain writes a text/plain page. It names no URL, so nothing is to be found in it.
func (w *Web) plain(dst []byte, h, p int32) []byte {
	start := len(dst)
	r := w.rng(saltText, h, p)
	dst = append(dst, "Page zq"...)
	dst = strconv.AppendInt(dst, int64(w.hosts[h].first+p), 10)
	dst = append(dst, "x of hq"...)
	dst = strconv.AppendInt(dst, int64(h), 10)
	dst = append(dst, "x.\n\n"...)
	return w.text.fill(dst, start+w.size(h, p), &r, "", "\n\n")
}

// encode turns a page that is ASCII but for its charset's block into charset c.
func (c *charset) encode(page []byte) []byte {
	if !c.wide {
		return page
	}
	out := make([]byte, 0, 2*len(page))
	for _, r := range string(page) {
		out = binary.LittleEndian.AppendUint16(out, uint16(r)) // no letter is beyond the basic plane
	}
	return out
}

// compress returns body as gzip, the same bytes for the same body.
func (w *Web) compress(body []byte) []byte {
	z := w.zippers.Get().(*zipper)
	defer w.zippers.Put(z)
	z.out = z.out[:0]
	z.Reset(z)
	if _, err := z.Writer.Write(body); err != nil {
		panic("testweb: gzip to memory: " + err.Error())
	}
	if err := z.Close(); err != nil {
		panic("testweb: gzip to memory: " + err.Error())
	}
	return append([]byte(nil), z.out...)
}

// zipper is a gzip writer that writes to its own buffer.
type zipper struct {
	*gzip.Writer
	out []byte
}

// Write takes what the gzip writer puts out.
func (z *zipper) Write(p []byte) (int, error) {
	z.out = append(z.out, p...)
	return len(p), nil
}

func newZipper() *zipper {
	z := &zipper{}
	zw, err := gzip.NewWriterLevel(z, gzip.BestSpeed)
	if err != nil {
		panic("testweb: gzip level: " + err.Error())
	}
	z.Writer = zw
	return z
}
