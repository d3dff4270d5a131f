package wire

import (
	"fmt"

	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/model"
)

// Content packs c; nil for nil. The body is shared.
func Content(c *model.Content) *modelv1.Content {
	if c == nil {
		return nil
	}
	return &modelv1.Content{
		Url: Bytes(c.URL), Base: Bytes(c.Base), Body: c.Body, ContentType: Bytes(c.ContentType), MimeType: Bytes(c.MIMEType),
		Truncated: Bytes(c.Truncated), FetchTimeUs: Time(c.FetchTime), Headers: Metadata(c.Headers),
	}
}

// ContentFrom is the inverse of Content.
func ContentFrom(c *modelv1.Content) *model.Content {
	if c == nil {
		return nil
	}
	return &model.Content{
		URL: Text(c.GetUrl()), Base: Text(c.GetBase()), Body: c.GetBody(), ContentType: Text(c.GetContentType()), MIMEType: Text(c.GetMimeType()),
		Truncated: Text(c.GetTruncated()), FetchTime: TimeFrom(c.GetFetchTimeUs()), Headers: MetadataFrom(c.GetHeaders()),
	}
}

// Outlinks packs links; nil when there are none.
func Outlinks(links []model.Outlink) *modelv1.Outlinks {
	if len(links) == 0 {
		return nil
	}
	out := &modelv1.Outlinks{Urls: make([][]byte, len(links)), Anchors: make([][]byte, len(links))}
	var tags Indexer
	for i := range links {
		out.Urls[i], out.Anchors[i] = Bytes(links[i].URL), Bytes(links[i].Anchor)
		if t := links[i].Tag; t != "" {
			if out.Tags == nil {
				out.Tags = make([]uint32, len(links))
			}
			out.Tags[i] = tags.Add(t)
		}
	}
	out.TagNames = tags.Texts
	out.Metadata = SparseMetadata(len(links), func(i int) model.Metadata { return links[i].Metadata })
	return out
}

// OutlinksFrom is the inverse of Outlinks.
func OutlinksFrom(in *modelv1.Outlinks) ([]model.Outlink, error) {
	n := len(in.GetUrls())
	if len(in.GetAnchors()) != n || len(in.GetTags()) != 0 && len(in.GetTags()) != n {
		return nil, fmt.Errorf("%d outlinks with %d anchors and %d tags", n, len(in.GetAnchors()), len(in.GetTags()))
	}
	if n == 0 {
		return nil, nil
	}
	tags := TextList(in.GetTagNames())
	out := make([]model.Outlink, n)
	for i := range out {
		out[i].URL, out[i].Anchor = Text(in.GetUrls()[i]), Text(in.GetAnchors()[i])
		if len(in.GetTags()) > 0 {
			var ok bool
			if out[i].Tag, ok = Lookup(tags, in.GetTags()[i]); !ok {
				return nil, fmt.Errorf("outlink tag %d of %d", in.GetTags()[i], len(tags))
			}
		}
	}
	err := SparseMetadataFrom(in.GetMetadata(), n, func(i int, m model.Metadata) { out[i].Metadata = m })
	return out, err
}

// Inlinks packs links.
func Inlinks(links []model.Inlink) []*modelv1.Inlink {
	var out []*modelv1.Inlink
	for _, l := range links {
		out = append(out, &modelv1.Inlink{From: Bytes(l.From), Anchor: Bytes(l.Anchor), Metadata: Metadata(l.Metadata)})
	}
	return out
}

// InlinksFrom is the inverse of Inlinks.
func InlinksFrom(in []*modelv1.Inlink) []model.Inlink {
	var out []model.Inlink
	for _, l := range in {
		out = append(out, model.Inlink{From: Text(l.GetFrom()), Anchor: Text(l.GetAnchor()), Metadata: MetadataFrom(l.GetMetadata())})
	}
	return out
}

// Parse packs p; nil for nil.
func Parse(p *model.Parse) *modelv1.Parse {
	if p == nil {
		return nil
	}
	out := &modelv1.Parse{
		Url: Bytes(p.URL), Status: ParseStatus(p.Status), Title: Bytes(p.Title), Text: Bytes(p.Text), Outlinks: Outlinks(p.Outlinks),
		Canonical: Bytes(p.Canonical), Charset: Bytes(p.Charset), Language: Bytes(p.Language),
		ContentMeta: Metadata(p.ContentMeta), ParseMeta: Metadata(p.ParseMeta),
	}
	if p.Robots != (model.RobotsMeta{}) {
		out.Robots = &modelv1.RobotsMeta{NoIndex: p.Robots.NoIndex, NoFollow: p.Robots.NoFollow, NoArchive: p.Robots.NoArchive}
	}
	for _, f := range p.Facts {
		out.Facts = append(out.Facts, &modelv1.FactResult{Names: BytesList(f.Names), Values: BytesList(f.Values)})
	}
	return out
}

// ParseFrom is the inverse of Parse; nil is an empty parse.
func ParseFrom(p *modelv1.Parse) (model.Parse, error) {
	status, err := ParseStatusFrom(p.GetStatus())
	if err != nil {
		return model.Parse{}, err
	}
	links, err := OutlinksFrom(p.GetOutlinks())
	if err != nil {
		return model.Parse{}, err
	}
	r := p.GetRobots()
	out := model.Parse{
		URL: Text(p.GetUrl()), Status: status, Title: Text(p.GetTitle()), Text: Text(p.GetText()), Outlinks: links,
		Robots:    model.RobotsMeta{NoIndex: r.GetNoIndex(), NoFollow: r.GetNoFollow(), NoArchive: r.GetNoArchive()},
		Canonical: Text(p.GetCanonical()), Charset: Text(p.GetCharset()), Language: Text(p.GetLanguage()),
		ContentMeta: MetadataFrom(p.GetContentMeta()), ParseMeta: MetadataFrom(p.GetParseMeta()),
	}
	for _, f := range p.GetFacts() {
		if n := len(f.GetNames()); n != 0 && n != len(f.GetValues()) {
			return model.Parse{}, fmt.Errorf("fact with %d names and %d values", n, len(f.GetValues()))
		}
		out.Facts = append(out.Facts, model.FactResult{Names: TextList(f.GetNames()), Values: TextList(f.GetValues())})
	}
	return out, nil
}

// Facts packs the facts asked for.
func Facts(facts []model.Fact) []*modelv1.Fact {
	var out []*modelv1.Fact
	for _, f := range facts {
		out = append(out, &modelv1.Fact{Kind: Bytes(string(f.Kind)), Arg: Bytes(f.Arg), Attr: Bytes(f.Attr), Max: int64(f.Max)})
	}
	return out
}

// FactsFrom is the inverse of Facts.
func FactsFrom(in []*modelv1.Fact) []model.Fact {
	var out []model.Fact
	for _, f := range in {
		out = append(out, model.Fact{Kind: model.FactKind(f.GetKind()), Arg: Text(f.GetArg()), Attr: Text(f.GetAttr()), Max: int(f.GetMax())})
	}
	return out
}

// Document packs d.
func Document(d *model.Document) *modelv1.Document {
	return &modelv1.Document{Id: Bytes(d.ID), Fields: ValuesList(d.Fields), Boost: d.Boost}
}

// DocumentFrom is the inverse of Document.
func DocumentFrom(d *modelv1.Document) model.Document {
	return model.Document{ID: Text(d.GetId()), Fields: ValuesListFrom(d.GetFields()), Boost: d.GetBoost()}
}
