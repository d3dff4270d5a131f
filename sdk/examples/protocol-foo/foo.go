package main

import (
	"context"
	_ "embed"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	var f foo
	if err := env.Settings.Decode(&f); err != nil {
		return nil, err
	}
	return &sdk.Extensions{Protocol: &f}, nil
}

// foo serves the made-up web. It never changes once it is built, so it is safe
// for concurrent use.
type foo struct {
	Pages int `json:"pages"`
}

// born is when all pages were last changed.
const born = "Thu, 01 Jan 2015 00:00:00 GMT"

// Fetch answers one request. Whatever a server can answer is a Response with a
// status; an error would mean that the plugin itself can't work.
func (f *foo) Fetch(_ context.Context, req *protocol.Request) (*protocol.Response, error) {
	start := time.Now()
	out := &protocol.Response{URL: req.URL, FetchTime: start, Protocol: "foo", Headers: model.Metadata{}}
	f.answer(req, out)
	out.Elapsed = time.Since(start)
	return out, nil
}

func (f *foo) answer(req *protocol.Request, out *protocol.Response) {
	u, err := url.Parse(req.URL)
	switch {
	case err == nil && u.Scheme != "foo":
		out.Status = model.ProtocolStatus{Code: model.ProtocolNotFoundProto, Message: "only foo is served"}
		return
	case err != nil || u.Host == "":
		out.Status = model.ProtocolStatus{Code: model.ProtocolGone, Message: "want foo://HOST/NUMBER"}
		return
	case u.Path == "": // a redirect comes back as one: the core decides whether to follow it
		out.Location = "foo://" + u.Host + "/"
		out.Status = model.ProtocolStatus{Code: model.ProtocolMoved, HTTP: 301, Message: out.Location}
		return
	}
	n, err := strconv.Atoi("0" + strings.TrimPrefix(u.Path, "/"))
	if err != nil || n >= f.Pages {
		out.Status = model.ProtocolStatus{Code: model.ProtocolNotFound, HTTP: 404}
		return
	}
	out.Headers.Set("Last-Modified", born)
	if req.LastModified == born {
		out.Status = model.ProtocolStatus{Code: model.ProtocolNotModified, HTTP: 304}
		return
	}
	out.ContentType = "text/html; charset=utf-8"
	out.Body = f.page(u.Host, n)
	if req.MaxBytes > 0 && int64(len(out.Body)) > req.MaxBytes { // the core's limit binds everyone
		out.Body, out.Truncated = out.Body[:req.MaxBytes], "length"
	}
	out.Status = model.ProtocolStatus{Code: model.ProtocolSuccess, HTTP: 200}
}

func (f *foo) page(host string, n int) []byte {
	title := html.EscapeString(fmt.Sprintf("Page %d of %s", n, host))
	page := "<!DOCTYPE html><title>" + title + "</title><h1>" + title + "</h1>"
	for _, to := range []int{n - 1, n + 1} {
		if to >= 0 && to < f.Pages {
			page += fmt.Sprintf(`<a href="/%s">page %d</a> `, strings.TrimPrefix(strconv.Itoa(to), "0"), to)
		}
	}
	return []byte(page)
}
