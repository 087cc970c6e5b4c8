package exchange

import "fmt"

// CheckPut reports why host may not put value under key.
func CheckPut(host string, key Key, value []byte) error {
	if err := key.Check(); err != nil {
		return err
	}
	switch {
	case key.Host != host:
		return fmt.Errorf("put %s: %w: it writes as %q", key, ErrForbidden, host)
	case len(value) > key.Kind.Limit():
		return fmt.Errorf("put %s: %w: it has %d bytes, and one of %s may have %d", key, ErrTooLarge, len(value), key.Kind, key.Kind.Limit())
	case len(value) == 0 && key.Kind != Objects:
		return fmt.Errorf("put %s: a statement is not empty", key)
	case key.Kind == Objects && key != Object(host, value):
		return fmt.Errorf("put %s: the content has another SHA-256", key)
	}
	return nil
}

// CheckGot reports why value, which the exchange returned, is not the value of key. An empty statement is none: that is
// what is left of a host that was removed.
func CheckGot(key Key, value []byte) error {
	switch {
	case len(value) > key.Kind.Limit():
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, len(value))
	case len(value) == 0 && key.Kind != Objects:
		return ErrNotFound
	case key.Kind == Objects && key != Object(key.Host, value):
		return ErrCorrupt
	}
	return nil
}
