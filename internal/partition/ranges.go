package partition

import "encoding/json"

// Range is one physical partition of a container: the EPKs in [Min, Max).
type Range struct {
	ID      string   // the partition key range id; "" if it is not known, as for azcosmos's feed ranges
	Min     EPK      // inclusive
	Max     EPK      // exclusive; in a [Map] never the minimum
	Parents []string // the ids of the ranges that were split or merged into this one; not to be changed
}

// ParseRange makes a range of its id, which may be "", and its bounds in hexadecimal. The error is a [*ParseError].
func ParseRange(id, minInclusive, maxExclusive string) (Range, error) {
	lower, err := ParseEPK(minInclusive)
	if err != nil {
		return Range{}, err
	}
	upper, err := ParseEPK(maxExclusive)
	if err != nil {
		return Range{}, err
	}
	return Range{ID: id, Min: lower, Max: upper}, nil
}

// rangesPage is the part of a pkranges answer that matters here.
type rangesPage struct {
	RID    string `json:"_rid"`
	Ranges *[]struct {
		ID      string   `json:"id"`
		Min     *string  `json:"minInclusive"`
		Max     *string  `json:"maxExclusive"`
		Parents []string `json:"parents"`
	} `json:"PartitionKeyRanges"`
}

// ParseRanges reads one page of a container's partition key ranges, and the RID of the container, which may be "".
// A page alone may be anything from empty to complete; [NewMap] and [Map.With] judge. The error is a [*ParseError].
func ParseRanges(body []byte) (rid string, ranges []Range, err error) {
	var page rangesPage
	if err := json.Unmarshal(body, &page); err != nil {
		return "", nil, &ParseError{Subject: "ranges", Reason: "not the JSON of a page of ranges", Err: err}
	}
	if page.Ranges == nil {
		return "", nil, &ParseError{Subject: "ranges", Reason: "no PartitionKeyRanges"}
	}
	ranges = make([]Range, 0, len(*page.Ranges))
	for _, in := range *page.Ranges {
		if in.Min == nil || in.Max == nil {
			return "", nil, &ParseError{Subject: "ranges", Reason: "a range without bounds"}
		}
		r, err := ParseRange(in.ID, *in.Min, *in.Max)
		if err != nil {
			return "", nil, err
		}
		r.Parents = in.Parents
		ranges = append(ranges, r)
	}
	return page.RID, ranges, nil
}
