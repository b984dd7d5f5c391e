"""The making of a guest's kernel: from a source package of Debian's to an image in the cache."""
