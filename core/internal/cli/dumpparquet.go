package cli

import (
	"bufio"
	"context"
	"io"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/gonutch/crawler/core/internal/query"
)

// parquetRecord is a row of "readdb --dump --format parquet".
type parquetRecord struct {
	URL             string        `parquet:"url,zstd"`
	StatusCode      int32         `parquet:"statusCode,zstd"`
	StatusName      string        `parquet:"statusName,zstd,dict"`
	FetchTime       time.Time     `parquet:"fetchTime,timestamp(millisecond),zstd"`
	PrevFetchTime   *time.Time    `parquet:"previousFetchTime,optional,timestamp(millisecond),zstd"`
	ModifiedTime    *time.Time    `parquet:"modifiedTime,optional,timestamp(millisecond),zstd"`
	Retries         int32         `parquet:"retriesSinceFetch,zstd"`
	IntervalSeconds int64         `parquet:"retryIntervalSeconds,zstd,dict"`
	Score           float64       `parquet:"score,zstd"`
	Signature       string        `parquet:"signature,zstd"`
	Protocol        string        `parquet:"protocolStatus,zstd,dict"`
	HTTP            int32         `parquet:"httpStatus,zstd"`
	ReprURL         string        `parquet:"reprUrl,zstd"`
	DuplicateOf     string        `parquet:"duplicateOf,zstd"`
	Segment         string        `parquet:"segment,zstd,dict"`
	Metadata        []parquetPair `parquet:"metadata,list"`
}

// parquetPair is one of a record's metadata.
type parquetPair struct {
	Key   string `parquet:"key,zstd,dict"`
	Value string `parquet:"value,zstd"`
}

// parquetRows bounds the records that are held before they are written.
const parquetRows = 20_000

func (inv *invocation) parquetRecords(ctx context.Context, out string, q query.RecordsQuery) error {
	if inv.json {
		return usagef("--json and --format parquet exclude each other")
	}
	var p *parquet.GenericWriter[parquetRecord]
	begin := func(w io.Writer) {
		if p == nil {
			p = parquet.NewGenericWriter[parquetRecord](w, parquet.CreatedBy("crawler", inv.app.Version, ""), parquet.MaxRowsPerRowGroup(parquetRows))
		}
	}
	return listTo(ctx, inv, out, query.Records(), q, "record", func(w *bufio.Writer, r query.Row) error {
		begin(w)
		_, err := p.Write([]parquetRecord{rowOf(&r)})
		return err
	}, func(w *bufio.Writer) error {
		begin(w)
		return p.Close()
	})
}

func rowOf(r *query.Row) parquetRecord {
	var meta []parquetPair
	for _, k := range r.Metadata.Keys() {
		for _, v := range r.Metadata[k] {
			meta = append(meta, parquetPair{k, v})
		}
	}
	return parquetRecord{
		URL: r.URL, StatusCode: int32(r.StatusCode), StatusName: r.StatusName, FetchTime: r.FetchTime, PrevFetchTime: known(r.PrevFetchTime), //nolint:gosec // small
		ModifiedTime: known(r.ModifiedTime), Retries: int32(r.Retries), IntervalSeconds: r.IntervalSeconds, Score: r.Score, Signature: r.Signature, //nolint:gosec // small
		Protocol: r.Protocol, HTTP: int32(r.HTTP), ReprURL: r.ReprURL, DuplicateOf: r.DuplicateOf, Segment: r.Segment, Metadata: meta, //nolint:gosec // small
	}
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
