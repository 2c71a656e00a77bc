package partition

import "fmt"

// ParseError says that something the service or the caller gave could not be read: a container answer, a page of
// partition key ranges, an EPK in hexadecimal.
type ParseError struct {
	Subject string // what was read: "container", "ranges" or "epk"
	Reason  string // what is wrong with it
	Err     error  // the decoder's error, nil if there is none
}

// Error implements the error interface.
func (e *ParseError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("partition: %s: %s: %v", e.Subject, e.Reason, e.Err)
	}
	return fmt.Sprintf("partition: %s: %s", e.Subject, e.Reason)
}

// Unwrap returns the decoder's error, if there is one.
func (e *ParseError) Unwrap() error { return e.Err }

// KeyError says why a partition key has no EPK under a definition. It never holds the key: its reasons are the Err…
// variables of this package, to be compared with errors.Is.
type KeyError struct {
	Reason string
}

// Error implements the error interface.
func (e *KeyError) Error() string { return "partition: key: " + e.Reason }

// The reasons of a [KeyError]. They are shared values, so that a stream of undecodable keys allocates nothing.
var (
	// ErrHeader: the header is not a partition key; azcosmos sends such headers for characters beyond the basic plane.
	ErrHeader error = &KeyError{Reason: "the header cannot be decoded"}
	// ErrCount: more components than the definition has paths, or fewer and the kind knows no prefixes.
	ErrCount error = &KeyError{Reason: "the number of components does not match the definition"}
	// ErrDefinition: the definition's kind or version is not one this package knows.
	ErrDefinition error = &KeyError{Reason: "the definition's kind or version is unknown"}
)

// CoverageError says why a set of ranges is no map: it has to cover "" to "FF" without gaps and overlaps.
type CoverageError struct {
	RID  string // the container's
	Rule string // the first rule that is violated
	At   EPK    // where
}

// Error implements the error interface.
func (e *CoverageError) Error() string {
	return fmt.Sprintf("partition: ranges of container %q: %s at %q", e.RID, e.Rule, e.At.String())
}

// The rules of a [CoverageError].
const (
	RuleRID     = "no RID: containers could not be told apart"
	RuleNone    = "no ranges"
	RuleStart   = "the first range does not start at the minimum"
	RuleEmpty   = "a range ends where it starts or before"
	RuleGap     = "gap"
	RuleOverlap = "overlap"
	RuleEnd     = "the last range does not end at the maximum"
)
