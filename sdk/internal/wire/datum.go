package wire

import (
	"fmt"
	"math"
	"time"

	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/model"
)

// ProtocolStatus packs s; nil when it is zero.
func ProtocolStatus(s model.ProtocolStatus) *modelv1.ProtocolStatus {
	if s == (model.ProtocolStatus{}) {
		return nil
	}
	return &modelv1.ProtocolStatus{Code: uint32(s.Code), Message: Bytes(s.Message), Http: int32(s.HTTP)}
}

// ProtocolStatusFrom is the inverse of ProtocolStatus.
func ProtocolStatusFrom(s *modelv1.ProtocolStatus) (model.ProtocolStatus, error) {
	if s.GetCode() > math.MaxUint8 {
		return model.ProtocolStatus{}, fmt.Errorf("protocol status %d", s.GetCode())
	}
	return model.ProtocolStatus{Code: model.ProtocolCode(s.GetCode()), Message: Text(s.GetMessage()), HTTP: int(s.GetHttp())}, nil
}

// ParseStatus packs s; nil when it is zero.
func ParseStatus(s model.ParseStatus) *modelv1.ParseStatus {
	if s.Major == 0 && s.Minor == 0 && s.Message == "" && len(s.Args) == 0 {
		return nil
	}
	return &modelv1.ParseStatus{Major: uint32(s.Major), Minor: uint32(s.Minor), Message: Bytes(s.Message), Args: BytesList(s.Args)}
}

// ParseStatusFrom is the inverse of ParseStatus.
func ParseStatusFrom(s *modelv1.ParseStatus) (model.ParseStatus, error) {
	if s.GetMajor() > math.MaxUint8 || s.GetMinor() > math.MaxUint16 {
		return model.ParseStatus{}, fmt.Errorf("parse status %d,%d", s.GetMajor(), s.GetMinor())
	}
	return model.ParseStatus{
		Major: model.ParseMajor(s.GetMajor()), Minor: model.ParseMinor(s.GetMinor()),
		Message: Text(s.GetMessage()), Args: TextList(s.GetArgs()),
	}, nil
}

// StatusOf unpacks a CrawlDatum's status.
func StatusOf(code uint32) (model.Status, error) {
	if code > math.MaxUint8 {
		return 0, fmt.Errorf("status %d", code)
	}
	return model.Status(code), nil
}

// Datum packs d.
func Datum(d *model.CrawlDatum) *modelv1.CrawlDatum {
	var names Names
	fields := names.Fields(d.Fields)
	return &modelv1.CrawlDatum{
		Status:          uint32(d.Status),
		FetchTimeUs:     Time(d.FetchTime),
		PrevFetchTimeUs: Time(d.PrevFetchTime),
		ModifiedTimeUs:  Time(d.ModifiedTime),
		Retries:         int64(d.Retries),
		IntervalNs:      int64(d.Interval),
		FixedInterval:   d.FixedInterval,
		Score:           d.Score,
		FieldNames:      names.List(),
		Fields:          fields,
		Signature:       d.Signature,
		PrevSignature:   d.PrevSignature,
		ProtocolStatus:  ProtocolStatus(d.ProtocolStatus),
		Etag:            Bytes(d.ETag),
		LastModified:    Bytes(d.LastModified),
		ReprUrl:         Bytes(d.ReprURL),
		DuplicateOf:     Bytes(d.DuplicateOf),
		Segment:         Bytes(d.Segment),
		Metadata:        Metadata(d.Metadata),
		History:         history(&d.History),
	}
}

// history packs h; nil when it is zero.
func history(h *model.ChangeHistory) *modelv1.ChangeHistory {
	if *h == (model.ChangeHistory{}) {
		return nil
	}
	return &modelv1.ChangeHistory{Target: Bytes(h.Target), Checks: int64(h.Checks), Rate: h.Rate, WantedNs: int64(h.Wanted), AgeNs: int64(h.Age)}
}

func historyFrom(h *modelv1.ChangeHistory) model.ChangeHistory {
	return model.ChangeHistory{
		Target: Text(h.GetTarget()), Checks: int(h.GetChecks()), Rate: h.GetRate(),
		Wanted: time.Duration(h.GetWantedNs()), Age: time.Duration(h.GetAgeNs()),
	}
}

// DatumFrom is the inverse of Datum.
func DatumFrom(d *modelv1.CrawlDatum) (model.CrawlDatum, error) {
	fields, err := FieldsFrom(d.GetFields(), TextList(d.GetFieldNames()))
	if err != nil {
		return model.CrawlDatum{}, err
	}
	ps, err := ProtocolStatusFrom(d.GetProtocolStatus())
	if err != nil {
		return model.CrawlDatum{}, err
	}
	status, err := StatusOf(d.GetStatus())
	if err != nil {
		return model.CrawlDatum{}, err
	}
	return model.CrawlDatum{
		Status:         status,
		FetchTime:      TimeFrom(d.GetFetchTimeUs()),
		PrevFetchTime:  TimeFrom(d.GetPrevFetchTimeUs()),
		ModifiedTime:   TimeFrom(d.GetModifiedTimeUs()),
		Retries:        int(d.GetRetries()),
		Interval:       time.Duration(d.GetIntervalNs()),
		FixedInterval:  d.GetFixedInterval(),
		Score:          d.GetScore(),
		Fields:         fields,
		Signature:      d.GetSignature(),
		PrevSignature:  d.GetPrevSignature(),
		ProtocolStatus: ps,
		ETag:           Text(d.GetEtag()),
		LastModified:   Text(d.GetLastModified()),
		ReprURL:        Text(d.GetReprUrl()),
		DuplicateOf:    Text(d.GetDuplicateOf()),
		Segment:        Text(d.GetSegment()),
		Metadata:       MetadataFrom(d.GetMetadata()),
		History:        historyFrom(d.GetHistory()),
	}, nil
}
