package parseimage

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bep/imagemeta"

	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk/model"
)

// timeLimit bounds the reading of one image's headers; the library looks at the
// clock itself.
const timeLimit = 5 * time.Second

// maxTag bounds a tag's value in bytes.
const maxTag = 64 << 10

// texts are what an image says of itself, by what it means. Where several places
// say it, the first of EXIF, IPTC and XMP that is met counts for a title, and all
// different ones for the text.
type texts struct {
	title       []string
	description []string
	alt         []string
	keywords    []string
	creator     []string
	rights      []string
	place       []string
}

// tagged reads the headers of an image with tags.
func (p *Parser) tagged(c *model.Content, format string, out *model.Parse) error {
	var tags imagemeta.Tags
	var said texts
	meta := out.ParseMeta
	n := 0
	res, err := imagemeta.Decode(imagemeta.Options{
		R: bytes.NewReader(c.Body), ImageFormat: kindOf(format), Timeout: timeLimit,
		LimitNumTags: uint32(min(p.MaxTags, 1<<20)), LimitTagSize: maxTag, //nolint:gosec // at least 1 by the manifest
		Sources:         imagemeta.EXIF | imagemeta.IPTC | imagemeta.XMP | imagemeta.CONFIG,
		ShouldHandleTag: func(t imagemeta.TagInfo) bool { return !strings.HasPrefix(t.Namespace, "IFD1") }, // that is the thumbnail's
		HandleTag: func(t imagemeta.TagInfo) error {
			if n++; n > p.MaxTags {
				libparse.Truncated(meta, "tags")
				return imagemeta.ErrStopWalking
			}
			tags.Add(t)
			said.add(t)
			if t.Source == imagemeta.EXIF && (p.tags[t.Tag] || p.tags["*"]) && !strings.HasPrefix(t.Tag, imagemeta.UnknownPrefix) {
				libparse.SetMeta(meta, "exif."+t.Tag, strings.Join(values(t.Value), ", "))
			}
			return nil
		},
	})
	if errors.Is(err, imagemeta.ErrStopWalking) {
		err = nil
	}
	setSize(meta, res.ImageConfig.Width, res.ImageConfig.Height)
	if when, err := tags.GetDateTime(); err == nil && !when.IsZero() {
		meta.Set(libparse.MetaCreated, when.Format(time.RFC3339))
	}
	if lat, long, err := tags.GetLatLong(); p.GPS && err == nil && (lat != 0 || long != 0) {
		meta.Set(metaLatitude, strconv.FormatFloat(lat, 'f', 6, 64))
		meta.Set(metaLongitude, strconv.FormatFloat(long, 'f', 6, 64))
	}
	said.write(out)
	if err != nil {
		return fmt.Errorf("read headers: %w", err)
	}
	return nil
}

// add sorts in a tag that is text for people.
func (s *texts) add(t imagemeta.TagInfo) {
	var to *[]string
	switch t.Source {
	case imagemeta.EXIF:
		switch t.Tag {
		case "XPTitle":
			to = &s.title
		case "ImageDescription", "XPComment", "XPSubject", "UserComment":
			to = &s.description
		case "XPKeywords":
			to = &s.keywords
		case "Artist", "XPAuthor":
			to = &s.creator
		case "Copyright":
			to = &s.rights
		}
	case imagemeta.IPTC:
		switch t.Tag {
		case "Headline", "ObjectName":
			to = &s.title
		case "Caption-Abstract":
			to = &s.description
		case "Keywords":
			to = &s.keywords
		case "By-line":
			to = &s.creator
		case "CopyrightNotice":
			to = &s.rights
		case "City", "Sub-location", "Province-State", "Country-PrimaryLocationName":
			to = &s.place
		}
	case imagemeta.XMP:
		switch t.Tag {
		case "Title", "Headline":
			to = &s.title
		case "Description":
			to = &s.description
		case "AltTextAccessibility":
			to = &s.alt
		case "ExtDescrAccessibility":
			to = &s.description
		case "Subject":
			to = &s.keywords
		case "Creator":
			to = &s.creator
		case "Rights":
			to = &s.rights
		case "City", "State", "Country", "Location":
			to = &s.place
		}
	}
	if to == nil {
		return
	}
	for _, v := range values(t.Value) {
		if v = libparse.Clean(v); v != "" && len(*to) < 200 {
			*to = append(*to, v)
		}
	}
}

// write makes title, text and metadata of what the image says.
func (s *texts) write(out *model.Parse) {
	meta := out.ParseMeta
	if len(s.title) > 0 {
		out.Title = s.title[0]
	}
	for _, k := range []struct {
		key  string
		from []string
	}{
		{metaAlt, s.alt},
		{libparse.MetaDescription, s.description},
		{libparse.MetaSubject, s.keywords},
		{libparse.MetaAuthor, s.creator},
		{metaRights, s.rights},
	} {
		if vs := once(k.from); len(vs) > 0 {
			meta[k.key] = vs
		}
	}
	text := once(s.title, s.alt, s.description)
	for _, list := range [][]string{s.keywords, s.creator, s.place, s.rights} {
		if l := strings.Join(once(list), ", "); l != "" {
			text = append(text, l)
		}
	}
	out.Text = strings.Join(text, "\n")
	if out.Title == "" && len(s.alt) > 0 {
		out.Title = s.alt[0]
	}
}

// once returns the values of lists, each once, in order.
func once(lists ...[]string) []string {
	var out []string
	seen := map[string]bool{}
	for _, l := range lists {
		for _, v := range l {
			if !seen[v] {
				seen[v] = true
				out = append(out, v)
			}
		}
	}
	return out
}

// values returns a tag's value as texts.
func values(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []string:
		return v
	case []byte:
		return nil // nothing for people
	case float64:
		return []string{strconv.FormatFloat(v, 'g', 8, 64)}
	case float32:
		return []string{strconv.FormatFloat(float64(v), 'g', 6, 32)}
	}
	s := fmt.Sprint(v)
	return []string{s[:min(len(s), maxTag)]}
}
