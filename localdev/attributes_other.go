//go:build !linux

package localdev

// keepsAttributes says whether files below a folder may carry extended
// attributes. It is not tried here: a file beside each object always works.
func keepsAttributes(string) bool { return false }
