package e2e

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// s3Group are the ways of an S3 service that is crawled, and those to buckets.
func s3Group() group {
	g := group{name: "s3", config: func(w *world) string {
		s := httptest.NewServer(hostileS3(w))
		w.t.Cleanup(s.Close)
		w.seeds = append(w.seeds, "s3://docs/")
		return fmt.Sprintf(`plugin { add = ["protocol-s3"] }
fetcher { max_exceptions_per_queue = -1 }
plugin "protocol-s3" {
  endpoint   = %q
  access_key = "KEY"
  secret_key = "secret"
}
`, s.URL)
	}}
	const notFollowed = "redirects of the service are not followed"
	nothing := func(*world) string { return "" }
	object := func(name, url, reason string) {
		g.ways = append(g.ways, way{name: "s3 " + name, lead: nothing, url: at(url), reason: reason})
	}
	for _, code := range []string{"301", "302", "307", "308"} {
		object("redirect "+code, "s3://docs/"+code, notFollowed)
	}
	object("other endpoint", "s3://docs/endpoint", notFollowed)
	object("other region", "s3://docs/region", "AuthorizationHeaderMalformed")
	object("page", "http://INNER/linked", isLoopback)
	g.ways = append(g.ways,
		way{name: "s3 file link", lead: nothing, reason: "file_link"},
		way{name: "s3 link", lead: linkTo("s3://docs/secret"), reason: "s3_link"},
		way{name: "s3 redirect", lead: redirect(302, "s3://docs/secret"), reason: "redirect_s3_link"},
		way{name: "s3 bucket is an address", lead: func(w *world) string {
			w.seeds = append(w.seeds, "s3://127.0.0.2/x")
			return ""
		}, url: at("s3://127.0.0.2/x"), reason: "Bucket name cannot be an ip address"},
	)
	return g
}

// hostileS3 is a service whose keys and answers try to lead elsewhere.
func hostileS3(w *world) http.Handler {
	inner := "http://" + w.inner()
	fail := func(rw http.ResponseWriter, code int, name string) {
		rw.Header().Set("Content-Type", "application/xml")
		rw.Header().Set("X-Amz-Bucket-Region", w.inner()+"/")
		rw.WriteHeader(code)
		fmt.Fprintf(rw, "<Error><Code>%s</Code><Message>m</Message><Endpoint>%s</Endpoint><Region>%s/</Region><Bucket>docs</Bucket></Error>", name, w.inner(), w.inner())
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.URL.Path, "/docs/")
		switch {
		case r.URL.Query().Has("location"):
			rw.Header().Set("Content-Type", "application/xml")
			fmt.Fprintf(rw, "<LocationConstraint>%s/</LocationConstraint>", w.inner())
		case r.URL.Query().Has("list-type") && r.URL.Query().Get("prefix") == "":
			rw.Header().Set("Content-Type", "application/xml")
			fmt.Fprint(rw, "<ListBucketResult><Name>docs</Name>")
			for _, k := range []string{"301", "302", "307", "308", "endpoint", "region", "page.html", "//" + w.inner() + "/key", inner + "/key", "../../" + w.inner()} {
				fmt.Fprint(rw, "<Contents><Key>")
				_ = xml.EscapeText(rw, []byte(k))
				fmt.Fprint(rw, "</Key><Size>1</Size></Contents>")
			}
			fmt.Fprint(rw, "</ListBucketResult>")
		case len(key) == 3 && key[0] == '3':
			code := 0
			_, _ = fmt.Sscan(key, &code)
			http.Redirect(rw, r, inner+"/redirected", code)
		case key == "endpoint":
			fail(rw, http.StatusMovedPermanently, "PermanentRedirect")
		case key == "region":
			fail(rw, http.StatusBadRequest, "AuthorizationHeaderMalformed")
		case key == "page.html":
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set("Last-Modified", "Mon, 03 Feb 2020 04:05:06 GMT")
			fmt.Fprintf(rw, `<a href="%s/linked">a</a><a href="file:///etc/passwd">b</a>`, inner)
		default:
			fail(rw, http.StatusNotFound, "NoSuchKey")
		}
	})
}
