package cli

import (
	"context"
	"io"

	"github.com/gonutch/crawler/core/internal/export"
	"github.com/gonutch/crawler/core/internal/query"
)

func dumpCommand() *command {
	return &command{
		name: "dump", args: "(FOLDER | --mime-stats) [SEGMENT…]", short: "Write the documents of segments as files, or count them by MIME type", group: "Looking", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			types := mimeFlag(inv)
			stats := inv.fs.Bool("mime-stats", false, "only count: documents and bytes by MIME type")
			flat := inv.fs.Bool("flat-dir", false, "all files in FOLDER instead of in folders by reversed host, such as org/example/www")
			inv.fs.Bool("reverse-url-dirs", true, "folders by reversed host: the default here")
			all := inv.fs.Bool("all", false, "also what did not bring a page, such as the texts of 404 answers")
			return func(ctx context.Context, args []string) error {
				folder := ""
				if !*stats {
					if len(args) == 0 {
						return usagef("name a folder for the files, or give --mime-stats")
					}
					folder, args = args[0], args[1:]
				}
				inv.segmentPaths(args)
				var f *export.Files
				q := query.CapturesQuery{Segments: args, Successful: !*all, MIMETypes: *types}
				err := inv.captures(ctx, q, func(dir string) (collector, error) {
					f = export.NewFiles(dir, folder, *flat)
					return collector{add: f.Add, finish: f.Close, drop: f.Close}, nil
				})
				if err != nil {
					return err
				}
				counts := f.Counts()
				if err := inv.print(counts, func(w io.Writer) {
					t := table{w: w}
					for _, c := range counts {
						t.line("%s\t%s\t%s", number(c.Documents), size(c.Bytes), printable(c.Type))
					}
				}); err != nil {
					return err
				}
				if len(counts) == 0 {
					return inv.nothing("no documents found")
				}
				return nil
			}
		},
	}
}
