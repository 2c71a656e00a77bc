package simulation

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// session is what a caller has learned of each partition key, by range and by
// region: a later token is merged with the earlier ones, as a client with a
// session of its own does.
type session map[int]map[string]map[string]int

// learn merges the token of an answer, "{range}:-1#{lsn}#{region}={writes}".
func (s *session) learn(key int, token string) {
	id, vector, ok := strings.Cut(token, ":")
	if !ok {
		return
	}
	if *s == nil {
		*s = session{}
	}
	if (*s)[key] == nil {
		(*s)[key] = map[string]map[string]int{}
	}
	known := (*s)[key][id]
	if known == nil {
		known = map[string]int{}
		(*s)[key][id] = known
	}
	fields := strings.Split(vector, "#")
	if len(fields) > 1 {
		lsn, _ := strconv.Atoi(fields[1])
		known[""] = max(known[""], lsn)
	}
	for _, field := range fields[min(2, len(fields)):] {
		region, writes, _ := strings.Cut(field, "=")
		n, _ := strconv.Atoi(writes)
		known[region] = max(known[region], n)
	}
}

// token is the session token of a key, "" before the first answer.
func (s session) token(key int) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(s[key])) {
		vector := s[key][id]
		fields := []string{id + ":-1", itoa(vector[""])}
		for _, region := range slices.Sorted(maps.Keys(vector)) {
			if region != "" {
				fields = append(fields, region+"="+itoa(vector[region]))
			}
		}
		parts = append(parts, strings.Join(fields, "#"))
	}
	return strings.Join(parts, ",")
}
