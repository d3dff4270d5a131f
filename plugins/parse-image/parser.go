package parseimage

import (
	"bytes"
	"context"
	"encoding/binary"
	"image/gif"
	"strconv"

	"github.com/bep/imagemeta"

	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

// Keys of the parse metadata besides those of libparse.
const (
	metaFormat    = "image.format"
	metaWidth     = "image.width"  // pixels
	metaHeight    = "image.height" // pixels
	metaAlt       = "image.alt"    // alternative text, by IPTC's AltTextAccessibility
	metaRights    = "dc.rights"
	metaLatitude  = "geo.latitude" // degrees, north positive
	metaLongitude = "geo.longitude"
	metaDegraded  = "parse.degraded"
)

// Parser reads headers of images. It is safe for concurrent use.
type Parser struct {
	config
	libparse.Section
	tags map[string]bool
}

// Parse implements parser.Parser. What an image is is told by its bytes.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &in.Content
	out := &model.Parse{URL: c.URL, ParseMeta: model.Metadata{}}
	format := formatOf(c.Body)
	if format == "" {
		return libparse.Unreadable(c, "no image of a kind that is read here"), nil
	}
	out.ParseMeta.Set(metaFormat, format)
	var err error
	switch format {
	case "svg":
		err = p.svg(c, out)
	case "gif":
		conf, gifErr := gif.DecodeConfig(bytes.NewReader(c.Body))
		setSize(out.ParseMeta, conf.Width, conf.Height)
		err = gifErr
	case "bmp":
		if len(c.Body) >= 26 {
			h := int32(binary.LittleEndian.Uint32(c.Body[22:])) //nolint:gosec // negative for pictures stored top to bottom
			setSize(out.ParseMeta, int(binary.LittleEndian.Uint32(c.Body[18:])), int(max(h, -h)))
		}
	case "ico":
		if len(c.Body) >= 8 {
			side := func(b byte) int { return (int(b)+255)%256 + 1 } // 0 stands for 256
			setSize(out.ParseMeta, side(c.Body[6]), side(c.Body[7]))
		}
	default:
		err = p.tagged(c, format, out)
	}
	if err != nil {
		if len(out.ParseMeta) == 1 && out.Text == "" {
			if c.Truncated != "" {
				return libparse.Failed(c, model.ParseFailedTruncated, "content is truncated (%s) before anything that can be read", c.Truncated), nil
			}
			return libparse.Unreadable(c, "%s: %.300s", format, err.Error()), nil
		}
		libparse.Truncated(out.ParseMeta, "broken")
		libparse.SetMeta(out.ParseMeta, metaDegraded, err.Error())
	}
	out.Text = libparse.Cut(out.Text, p.MaxTextLength, out.ParseMeta)
	return libparse.Succeeded(out, len(in.Facts)), nil
}

func setSize(meta model.Metadata, width, height int) {
	if width > 0 && height > 0 {
		meta.Set(metaWidth, strconv.Itoa(width))
		meta.Set(metaHeight, strconv.Itoa(height))
	}
}

// formatOf tells an image's format by its first bytes, "" for none that is read.
func formatOf(b []byte) string {
	has := func(at int, magic string) bool {
		return len(b) >= at+len(magic) && string(b[at:at+len(magic)]) == magic
	}
	switch {
	case has(0, "\xff\xd8\xff"):
		return "jpeg"
	case has(0, "\x89PNG\r\n\x1a\n"):
		return "png"
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return "gif"
	case has(0, "RIFF") && has(8, "WEBP"):
		return "webp"
	case has(0, "II*\x00"), has(0, "MM\x00*"):
		return "tiff"
	case has(4, "ftypavif"), has(4, "ftypavis"):
		return "avif"
	case has(4, "ftypheic"), has(4, "ftypheix"), has(4, "ftypmif1"), has(4, "ftypmsf1"), has(4, "ftyphevc"):
		return "heif"
	case has(0, "BM"):
		return "bmp"
	case has(0, "\x00\x00\x01\x00"):
		return "ico"
	case bytes.Contains(b[:min(len(b), 4096)], []byte("<svg")), bytes.Contains(b[:min(len(b), 4096)], []byte(":svg")):
		return "svg"
	}
	return ""
}

// kindOf returns the library's name of a format.
func kindOf(format string) imagemeta.ImageFormat {
	switch format {
	case "jpeg":
		return imagemeta.JPEG
	case "png":
		return imagemeta.PNG
	case "webp":
		return imagemeta.WebP
	case "tiff":
		return imagemeta.TIFF
	case "avif":
		return imagemeta.AVIF
	}
	return imagemeta.HEIF
}
