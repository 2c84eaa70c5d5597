"""The register tile: a small matrix product whose result never leaves the processor's registers.

Every convolution of the engine, forward and backward, is a walk over such tiles. For p < TILE and one block of output
channels c (`block(dtype)` of them, two vector registers wide):

    out[p, c] = start[p, c] + sum over o < outer, i < inner of x[p, o, i] * w[o, i, c]

Operands are given as the address of their first element and a stride in bytes for each index, so that the same product
reads a padded image as if its patches had been copied out: o walks kernel rows, i the contiguous run of a kernel row's
pixels and channels. No patch matrix is ever built. NumPy has no call for this; Numba vectorises the loop but keeps
its sums in memory, at a quarter of the rate. So the loop is spelled out for LLVM.
"""

import numpy as np

from pocket.engine.kernels.compile import WIDE, Late

TILE = 8 if WIDE else 6  # TILE * VECTORS sums, each 64 bytes, fit in the registers: 32 of 64 bytes, or 16 of 32
VECTORS = 2 if WIDE else 1
BLOCK_BYTES = 64 * VECTORS


def block(dtype) -> int:
    """Output channels that one tile computes."""
    return BLOCK_BYTES // np.dtype(dtype).itemsize


def _tile(unit_x_p: bool, unit_x_i: bool, add_start_last: bool):
    """The Numba intrinsic; a stride known to be one element lets the compiler fold it into the instruction.

    A start that is the sum of what came before is added last: small terms would lose digits one by one beside it.
    """
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    ir = cgutils.ir  # Numba's builder of LLVM code

    @intrinsic
    def tile(typing, like, x, x_p, x_o, x_i, outer, inner, w, w_o, w_i, start, start_p, out, out_p):
        number = like.dtype
        signature = types.void(like, *([types.intp] * 13))

        def generate(context, builder, signature, arguments):
            word = ir.IntType(64)
            scalar = context.get_value_type(number)
            size = number.bitwidth // 8
            vector = ir.VectorType(scalar, 64 // size)
            x, x_p, x_o, x_i, outer, inner, w, w_o, w_i, start, start_p, out, out_p = arguments[1:]
            x_p = word(size) if unit_x_p else x_p
            x_i = word(size) if unit_x_i else x_i
            fma = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{64 // size}f{number.bitwidth}"
            )

            def vectors_at(address):
                places = (builder.add(address, word(64 * v)) for v in range(VECTORS))
                return [builder.inttoptr(place, vector.as_pointer()) for place in places]

            def load(address):
                return [builder.load(pointer, align=size) for pointer in vectors_at(address)]

            def spread(address):
                one = builder.load(builder.inttoptr(address, scalar.as_pointer()), align=size)
                first = builder.insert_element(ir.Constant(vector, ir.Undefined), one, ir.IntType(32)(0))
                lanes = ir.Constant(ir.VectorType(ir.IntType(32), 64 // size), None)
                return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), lanes)

            rows = [builder.add(x, builder.mul(word(p), x_p)) for p in range(TILE)]
            begin = [s for p in range(TILE) for s in load(builder.add(start, builder.mul(word(p), start_p)))]
            sums = [ir.Constant(vector, None) for _ in begin] if add_start_last else begin
            before = builder.block
            outer_loop, inner_loop, outer_end, done = (
                builder.append_basic_block(name) for name in ("outer", "inner", "outer_end", "done")
            )
            builder.branch(outer_loop)

            builder.position_at_end(outer_loop)
            o = builder.phi(word)
            outer_sums = [builder.phi(vector) for _ in sums]
            x_here = builder.mul(o, x_o)
            w_here = builder.add(w, builder.mul(o, w_o))
            builder.branch(inner_loop)

            builder.position_at_end(inner_loop)
            i, x_at, w_at = builder.phi(word), builder.phi(word), builder.phi(word)
            inner_sums = [builder.phi(vector) for _ in sums]
            weights = load(w_at)
            added = []
            for p in range(TILE):
                value = spread(builder.add(rows[p], x_at))
                for v in range(VECTORS):
                    added.append(builder.call(fma, [value, weights[v], inner_sums[p * VECTORS + v]]))
            i_next = builder.add(i, word(1))
            x_next, w_next = builder.add(x_at, x_i), builder.add(w_at, w_i)
            builder.cbranch(builder.icmp_signed("<", i_next, inner), inner_loop, outer_end)
            for phi, first, later in ((i, word(0), i_next), (x_at, x_here, x_next), (w_at, w_here, w_next)):
                phi.add_incoming(first, outer_loop)
                phi.add_incoming(later, inner_loop)
            for phi, first, later in zip(inner_sums, outer_sums, added, strict=True):
                phi.add_incoming(first, outer_loop)
                phi.add_incoming(later, inner_loop)

            builder.position_at_end(outer_end)
            o_next = builder.add(o, word(1))
            builder.cbranch(builder.icmp_signed("<", o_next, outer), outer_loop, done)
            o.add_incoming(word(0), before)
            o.add_incoming(o_next, outer_end)
            for phi, first, later in zip(outer_sums, sums, added, strict=True):
                phi.add_incoming(first, before)
                phi.add_incoming(later, outer_end)

            builder.position_at_end(done)
            if add_start_last:
                added = [builder.fadd(first, total) for first, total in zip(begin, added, strict=True)]
            for p in range(TILE):
                places = vectors_at(builder.add(out, builder.mul(word(p), out_p)))
                for v, pointer in enumerate(places):
                    builder.store(added[p * VECTORS + v], pointer, align=size)
            return context.get_dummy_value()

        return signature, generate

    return tile


# p: pixels; i: channels, one after the other
tile_of_pixels = Late(lambda: _tile(unit_x_p=False, unit_x_i=True, add_start_last=False))
# p: channels, one after the other; i: pixels
tile_of_weights = Late(lambda: _tile(unit_x_p=True, unit_x_i=False, add_start_last=True))
