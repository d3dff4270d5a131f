package config

import (
	"testing"

	crawler "github.com/gonutch/crawler"
)

func TestDefaultsLoad(t *testing.T) {
	c, err := Load(Options{Defaults: crawler.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range c.All() {
		t.Log(v.Key, v.Text, v.Origin, v.Nutch)
	}
}
