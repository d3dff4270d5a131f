package testsite

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// shopPage is how many products the shop lists at a time.
const shopPage = 10

// shopShell is every page of the shop as the server sends it: no product, no link.
const shopShell = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Loading</title>
<style>body{font-family:sans-serif;margin:2em} li{display:inline-block;width:11em;margin:.5em;padding:1em;border:1px solid #999;background:#eef}</style>
</head><body><div id="app"></div><script src="/app.js"></script></body></html>
`

// shopScript makes the pages. The list grows by a button, a product comes with its
// neighbours, and prices come a moment later than names.
const shopScript = `"use strict";
const app = document.getElementById("app");
const get = async path => (await fetch(path)).json();
const add = (parent, tag, text, attributes) => {
	const e = document.createElement(tag);
	e.textContent = text;
	for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
	parent.append(e);
	return e;
};
async function list() {
	document.title = "The JavaScript shop";
	add(app, "h1", "All products");
	const ul = add(app, "ul", "");
	const more = add(app, "button", "More", {class: "more"});
	let page = 0;
	const next = async () => {
		const answer = await get("/api/products?page=" + page++);
		for (const p of answer.products) add(add(ul, "li", ""), "a", p.name, {href: "/product/" + p.id});
		if (!answer.more) more.remove();
	};
	more.addEventListener("click", next);
	await next();
}
async function product(id) {
	const p = await get("/api/product/" + id);
	document.title = p.name;
	add(app, "h1", p.name);
	const price = add(app, "p", "…", {class: "price"});
	add(app, "a", "All products", {href: "/"});
	price.textContent = "Price " + (await get("/api/price/" + id)).price;
}
const match = location.pathname.match(/^\/product\/(\d+)$/);
match ? product(match[1]) : list();
`

// Shop makes s a shop of n products whose pages hold nothing before their scripts have
// run. It lists ten at a time: the button with the class "more" brings the next ten. It
// returns the paths of the products; that of product i has the title "Product i".
func Shop(s *Site, n int) []string {
	s.Page("/", shopShell).File("/app.js", "text/javascript", []byte(shopScript))
	answer := func(w http.ResponseWriter, v map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	name := func(i int) string { return fmt.Sprintf("Product %d", i) }
	s.Handle("/api/products", func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		list := []map[string]any{}
		for i := page*shopPage + 1; i <= min((page+1)*shopPage, n); i++ {
			list = append(list, map[string]any{"id": i, "name": name(i)})
		}
		answer(w, map[string]any{"products": list, "more": (page+1)*shopPage < n})
	})
	var paths []string
	for i := 1; i <= n; i++ {
		path := fmt.Sprintf("/product/%d", i)
		paths = append(paths, path)
		s.Page(path, shopShell)
		s.Handle("/api"+path, func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"name": name(i)}) })
		s.Handle(strings.Replace("/api"+path, "product", "price", 1), func(w http.ResponseWriter, _ *http.Request) {
			answer(w, map[string]any{"price": fmt.Sprintf("%d.99", i)})
		})
	}
	return paths
}
