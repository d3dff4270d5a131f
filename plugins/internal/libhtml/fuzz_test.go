package libhtml

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// fuzzSeeds are pages with everything that the stream treats on its own.
func fuzzSeeds() []string {
	return []string{
		`<!DOCTYPE html><html lang=en><head><title>A &amp; B</title><meta name=robots content="noindex"><link rel=canonical href=/c>` +
			`<base href="/x/"></head><body><p>one<p>two <a href=a>link</a><ul><li>x<li>y</ul></body></html>`,
		`<table><tr><td>1<td>2<tr><th>3</table><table><caption>c</caption><col><tbody><tr><td><table><tr><td>in</table></table>`,
		`<a href=1>one<a href=2>two</a><div><a href=3>three</div>four</a>`,
		`<b>1<p>2</b>3</p><i><a href=x>y</i>z</a><form><div></form>a</div>`,
		`<svg><title>t</title><style>a{}</style><path d="x"/><text>T</text><![CDATA[<b>]]></svg><math><mi>x</mi></math>`,
		`<select><option>A<option>B<optgroup><option>C</select><input><hr><button>x<button>y</button>`,
		`<script><!-- <script> </script> --></script>a<style><b></style><textarea></b></textarea><xmp><i></xmp><noscript><p>n</noscript>`,
		`<template><p>x</template>y<template><td>z</template><object><p>a</object><applet><b>c</applet><ruby>a<rt>b<rp>c</ruby>`,
		`<h1>a<h2>b</h1><dl><dt>x<dd>y</dl><nobr>1<nobr>2</nobr><plaintext></plaintext><a href=x>`,
		`<noscript><link rel=next href=n></noscript></head><body><area href=x alt=y><img alt=z src=i><a href=q><img alt=w></a>`,
		`&amp&lt;&notit;&#x80;&#0;&copy=1<a href="?a=1&copy=2&amp;b&lt=3">x</a><!-->a--><!--->b--><!-- c --!>d<!x>e<?pi?>f</ >g`,
		`<dialog>a<video>b</dialog>c</video><canvas><b>d</canvas>e</b>f<output>g</output><search>h</search>`,
		`<template><svg><style><p></style><title>x</title></svg></template>a<template><svg><g></template>b`,
		`<frameset><frame src=f></frameset><noframes>n</noframes>`,
		`</p></br><li>a</ul></div><pre>` + "\n" + `x</pre><image src=y><center>c</center><listing>l</listing><marquee>m</marquee>`,
	}
}

// FuzzDifferential mutates pages: wherever the stream gets through, the tree
// must say the same.
func FuzzDifferential(f *testing.F) {
	for _, s := range fuzzSeeds() {
		f.Add([]byte(s))
	}
	x := newExtractor(f, allOptions())
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 1<<14 || !utf8.Valid(body) {
			return
		}
		differ(t, x, string(body), body)
	})
}

// TestStreamEqualsTreeOnRandomMarkup builds pages of random tags, nested
// wrongly on purpose.
func TestStreamEqualsTreeOnRandomMarkup(t *testing.T) {
	x := newExtractor(t, allOptions())
	rounds := 60000 * scale()
	if testing.Short() {
		rounds = 5000
	}
	streams := 0
	for i := range rounds {
		body := randomPage(rand.New(rand.NewPCG(1, uint64(i))))
		if differ(t, x, body, []byte(body)).Way == ByStream {
			streams++
		}
		if t.Failed() {
			t.Fatalf("page %d: %q", i, body)
		}
	}
	t.Logf("%d of %d pages by stream", streams, rounds)
	if streams < rounds/10 {
		t.Errorf("only %d of %d pages by stream: the test shows little", streams, rounds)
	}
}

// scale multiplies the rounds of random tests; LIBHTML_ROUNDS sets it for a
// long search.
func scale() int {
	n, err := strconv.Atoi(os.Getenv("LIBHTML_ROUNDS"))
	if err != nil {
		return 1
	}
	return n
}

// randomPage returns a page of random tokens; the seed decides how many
// element names it uses and how often end tags fit.
func randomPage(r *rand.Rand) string {
	names := elems.names[1:]
	few := make([]string, 3+r.IntN(6))
	for i := range few {
		few[i] = names[r.IntN(len(names))]
	}
	few = append(few, "a", "x-y")
	var b strings.Builder
	var open []string
	if r.IntN(3) > 0 {
		b.WriteString("<!DOCTYPE html>")
	}
	if r.IntN(2) > 0 {
		b.WriteString("<body>")
	}
	for range 3 + r.IntN(30) {
		switch k := r.IntN(10); {
		case k < 4:
			n := few[r.IntN(len(few))]
			b.WriteString("<" + n)
			b.WriteString([]string{"", " href=u" + n, " lang=l", " type=hidden", " alt=z src=s", " name=n content=c"}[r.IntN(6)])
			b.WriteString([]string{">", ">", ">", "/>"}[r.IntN(4)])
			open = append(open, n)
		case k < 6 && len(open) > 0:
			i := len(open) - 1
			if r.IntN(4) == 0 {
				i = r.IntN(len(open))
			}
			b.WriteString("</" + open[i] + ">")
			open = append(open[:i], open[i+1:]...)
		case k < 7:
			b.WriteString("</" + few[r.IntN(len(few))] + ">")
		default:
			b.WriteString([]string{"t", " ", "w &amp; v", "\n", "<!-- c -->", "&lt", "u\u00a0"}[r.IntN(7)])
		}
	}
	return b.String()
}
