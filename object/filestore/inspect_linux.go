package filestore

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"batcher/object"
)

// doubtful are the file systems, by their magic number, on which link, rename or
// fsync may not keep their promises, and why.
var doubtful = map[int64]string{
	unix.NFS_SUPER_MAGIC:       "NFS: attributes are cached, and several clients may see different directories for a while",
	unix.SMB_SUPER_MAGIC:       "SMB: hard links and durable directories depend on the server",
	unix.CIFS_SUPER_MAGIC:      "CIFS: hard links and durable directories depend on the server",
	unix.SMB2_SUPER_MAGIC:      "SMB: hard links and durable directories depend on the server",
	unix.FUSE_SUPER_MAGIC:      "FUSE: what link and fsync mean depends on the program behind it",
	unix.V9FS_MAGIC:            "9P: what link and fsync mean depends on the host",
	unix.TMPFS_MAGIC:           "tmpfs: nothing survives a reboot",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay: a container's own layer goes with the container; use a volume",
}

// Inspect implements object.Inspector: it names file systems that may not keep
// the promises of a store.
func (s *Store) Inspect(ctx context.Context) ([]object.Remark, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var fs unix.Statfs_t
	for dir := s.root; ; dir = filepath.Dir(dir) {
		err := unix.Statfs(dir, &fs)
		if err == nil {
			break
		}
		if !isAbsent(err) || dir == filepath.Dir(dir) {
			return nil, fmt.Errorf("inspect %s: %w: %w", s.root, object.ErrUnknown, err)
		}
	}
	if why, ok := doubtful[fs.Type]; ok {
		return []object.Remark{{Subject: "file-system", Text: why}}, nil
	}
	return nil, nil
}
