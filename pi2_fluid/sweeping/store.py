"""Zarr stores of sweeps: written block by block, each with a mark when it is there."""

from __future__ import annotations

import errno
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.results.dataset import make_dataset
from pi2_fluid.results.ratios import with_ratios
from pi2_fluid.saving import save_bytes, save_folder, whole_or_told
from pi2_fluid.sweeping.axes import Grid
from pi2_fluid.sweeping.blocks import Block, blocks_of
from pi2_fluid.sweeping.identity.identity import differences
from pi2_fluid.sweeping.interrupting import later
from pi2_fluid.sweeping.naming import final_names, layout_columns
from pi2_fluid.sweeping.outcomes import Layout, Rows

if TYPE_CHECKING:
    import xarray
    import zarr

_IDENTITY: Final = "identity"
_SETS: Final = "instruction_sets"
_MISSING: Final = "not computed yet."


class Store:
    """A store that is there."""

    def __init__(self, path: Path, shape: tuple[int, ...]) -> None:
        import zarr

        self.path = path
        self._group = zarr.open_group(path, mode="r+", zarr_format=3)
        self._arrays: dict[str, zarr.Array[Any]] = {}
        self._silence: bytes | None = None  # Zarr's file of a chunk without a sentence
        self._chunk = tuple(json.loads(str(self._group.attrs["block_shape"])))
        self._blocks = blocks_of(shape, self._chunk)
        self._places = {block.start: place for place, block in enumerate(self._blocks)}

    @later()
    def missing(self) -> list[Block]:
        """Return the blocks without a mark."""
        done = np.asarray(self._array("done")[:], dtype=bool)
        return [block for block, there in zip(self._blocks, done, strict=True) if not there]

    @later()
    def write(self, block: Block, rows: Rows, names: Mapping[str, str]) -> None:
        """Write what a block has, and then its mark.

        Parameters
        ----------
        block : Block
            Of this store.
        rows : Rows
            What its points have.
        names : mapping of str to str
            What everything is called in the store.

        Raises
        ------
        WriteError
            If the disk is full; the block has no mark then.
        """
        with whole_or_told(self.path):
            self._write(block, rows, names)

    def _write(self, block: Block, rows: Rows, names: Mapping[str, str]) -> None:
        extent = tuple(part.stop - part.start for part in block.region)
        for name, values in rows.values.items():
            shaped = values.reshape(*extent, *values.shape[1:])
            whole = (slice(None),) * (values.ndim - 1)
            self._array(names[name])[block.region + whole] = shaped
        self._write_errors(block, rows)
        known = {*str(self._group.attrs[_SETS]).split(", "), *rows.simd} - {""}
        if ", ".join(sorted(known)) != self._group.attrs[_SETS]:
            self._group.attrs[_SETS] = ", ".join(sorted(known))
        self._array("done")[self._places[block.start]] = True

    def _write_errors(self, block: Block, rows: Rows) -> None:
        """Write the sentences of a block; hardly ever is there one."""
        array = self._array("error")
        places = (part.start // size for part, size in zip(block.region, self._chunk, strict=True))
        file = self.path / "error" / array.metadata.encode_chunk_key(tuple(places))
        if self._silence is not None and not rows.errors:
            file.parent.mkdir(parents=True, exist_ok=True)
            save_bytes(file, self._silence)
            return
        extent = tuple(part.stop - part.start for part in block.region)
        sentences = np.zeros(extent, dtype=np.dtypes.StringDType())
        if rows.errors:
            sentences[...] = rows.sentences().reshape(extent)
        array[block.region] = sentences
        # One is as long to make as all numbers of a block; at an edge Zarr fills up with sentences.
        if not rows.errors and extent == self._chunk:
            self._silence = file.read_bytes()

    def _array(self, name: str) -> zarr.Array[Any]:
        """Return an array, which is opened once: that costs a third of writing a small block."""
        import zarr

        if name not in self._arrays:
            # Whether a chunk is but its fill value takes longer to see than it saves.
            with zarr.config.set({"array.write_empty_chunks": True}):
                found: Any = self._group[name]
            self._arrays[name] = found
        return self._arrays[name]

    @later()
    def dataset(self) -> xarray.Dataset:
        """Return the store as a Dataset, which reads numbers when they are asked for."""
        import xarray

        lazy: dict[str, int] | None = {} if importlib.util.find_spec("dask") else None
        opened: xarray.Dataset = xarray.open_zarr(self.path, chunks=lazy, consolidated=False)
        return with_ratios(opened.drop_vars("done"))


@later()
def find_store(path: str | Path, grid: Grid, identity: str, *, resume: bool) -> Store | None:
    """Return the store at a path, None if nothing is there.

    Raises
    ------
    QuantityError
        If it is of another sweep or of none, or is not to be resumed.
    """
    import zarr

    folder = Path(path)
    if not folder.exists():
        return None
    if not resume:
        raise QuantityError(
            f"store = {show_value(str(path))} is there, and resume = False begins a new one: give"
            " another path, or remove it."
        )
    try:
        found = zarr.open_group(folder, mode="r", zarr_format=3).attrs.get(_IDENTITY)
    except (OSError, ValueError):
        found = None
    if found is None:
        raise QuantityError(
            f"store = {show_value(str(path))} is no store of a sweep: give another path."
        )
    if other := differences(json.loads(str(found)), json.loads(identity)):
        raise QuantityError(
            f"store = {show_value(str(path))} is of another sweep, as it differs in"
            f" {', '.join(other)}: give another path, or remove it."
        )
    return Store(folder, grid.shape)


@later()
def create_store(
    path: str | Path,
    grid: Grid,
    layout: Layout,
    chunk: Sequence[int],
    attrs: Mapping[str, str | float],
) -> Store:
    """Return a new store of NaN, at once whole.

    Parameters
    ----------
    path : str or Path
        Where nothing is.
    grid, layout
        What it will have.
    chunk : sequence of int
        The shape of a block.
    attrs : mapping
        With the hash.
    """
    import zarr
    from zarr.codecs import BloscCodec
    from zarr.storage import MemoryStore

    names, columns = final_names(grid, layout), layout_columns(grid, layout)
    coords = grid.coords() | {names[name]: label for name, label in layout.labels.items()}
    files_in_memory: dict[str, Any] = {}
    about = {**attrs, _SETS: "", "block_shape": json.dumps(list(chunk))}
    skeleton = make_dataset({}, coords, about)
    skeleton.to_zarr(MemoryStore(files_in_memory), zarr_format=3, consolidated=False)
    group = zarr.open_group(MemoryStore(files_in_memory), mode="r+", zarr_format=3)
    # Bytes of one kind together and then quickly: half the time of Zarr's default, and smaller.
    packed = BloscCodec(cname="lz4", clevel=1, shuffle="shuffle")
    for name, (dims, shape, units, long_name) in columns.items():
        group.create_array(
            name,
            shape=shape,
            chunks=(*chunk, *(max(1, size) for size in shape[len(chunk) :])),
            dtype="float64",
            compressors=packed,
            fill_value=np.nan,
            dimension_names=dims,
            attributes={"units": units, "long_name": long_name},
        )
    # As xarray itself says which arrays are coordinates.
    others = [names[name] for name, slot in layout.slots.items() if slot.is_coordinate]
    if others:
        written = str(group.attrs.get("coordinates", "")).split()
        group.attrs["coordinates"] = " ".join([*written, *others])
    error: dict[str, Any] = {"units": "1", "long_name": "why there is no result, if there is none"}
    group.create_array(
        "error",
        shape=grid.shape,
        chunks=tuple(chunk),
        dtype=str,
        fill_value=_MISSING,
        dimension_names=grid.dims,
        attributes=error,
    )
    blocks = len(blocks_of(grid.shape, tuple(chunk)))
    group.create_array(
        "done",
        shape=(blocks,),
        chunks=(1,),
        dtype=bool,
        fill_value=False,
        dimension_names=("block",),
        attributes={"units": "1", "long_name": "whether a block is there"},
    )
    files = {name: content.to_bytes() for name, content in files_in_memory.items()}
    try:
        save_folder(path, files, belongs=lambda _: False)
    except OSError as error:
        if (error.errno or 0) not in {errno.EEXIST, errno.ENOTEMPTY}:
            raise
        raise QuantityError(
            f"store = {show_value(str(path))} has been begun by another process meanwhile: let that"
            " one finish and call this again, which reads it, or give another path."
        ) from None
    return Store(Path(path), grid.shape)
