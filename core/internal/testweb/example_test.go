package testweb_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/gonutch/crawler/core/internal/testweb"
	"github.com/gonutch/crawler/sdk/model"
)

// A web is asked, and a CrawlDB judged.
func Example() {
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.Shares = 3, 20, testweb.Plain()
	web, err := testweb.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, url := range []string{"http://host0.test/robots.txt", web.PageURL(0), "http://host0.test/nothing"} {
		rec := httptest.NewRecorder()
		web.ServeHTTP(rec, httptest.NewRequest("GET", url, nil))
		fmt.Println(url, rec.Code)
	}
	fmt.Println("polite:", func() bool { r := web.Report(); return r.Polite() }())

	truth := web.Truth(testweb.Options{})
	fmt.Println("required:", truth.Summary().Required)
	diffs := truth.Check(map[string]model.Status{web.PageURL(0): model.StatusDBGone})
	fmt.Println(len(diffs), "differences, first:", diffs[0])

	// Output:
	// http://host0.test/robots.txt 404
	// http://host0.test/ 200
	// http://host0.test/nothing 404
	// polite: true
	// required: 20
	// 20 differences, first: status http://host0.test/ is db_gone, allowed db_fetched (page)
}
