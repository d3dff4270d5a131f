package libhtml

import "testing"

func TestExpandEmpty(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`<p>a<br/>b</p>`, `<p>a<br/>b</p>`},
		{`<script src="x"/><title/>a`, `<script src="x"></script><title></title>a`},
		{`<a id="x" />b<svg:g/>`, `<a id="x" ></a>b<svg:g></svg:g>`},
		{`<script>"<a/>"</script><style>/*<b/>*/</style><b/>`, `<script>"<a/>"</script><style>/*<b/>*/</style><b></b>`},
		{`<!-- <a/> --><?x <a/>?><a href=x/>`, `<!-- <a/> --><?x <a/>?><a href=x/>`},
		{`<a/`, `<a/`},
		{`<`, `<`},
		{``, ``},
	} {
		if got := string(ExpandEmpty([]byte(c.in))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}
