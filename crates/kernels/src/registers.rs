//! Vector registers as kernels that are written in them see them: one trait over AVX-512, AVX2 and plain arrays.
//!
//! What is computed in them is elsewhere: products in `gemm`, depthwise convolutions in
//! `conv::depthwise`, sums of rows in `fold`. Loops that the compiler vectorises by itself go through
//! `level`.

use crate::Real;
#[cfg(target_arch = "x86_64")]
use crate::level::{Level, cpu_level};

/// A register of `LEN` elements.
///
/// # Safety
/// The methods of the x86 implementations may only be called where the instructions they are named
/// after are enabled and present; `load` and `store` touch `LEN` elements, with no alignment asked.
pub unsafe trait Vector: Copy {
    /// What it holds.
    type Element: Copy;
    /// How many.
    const LEN: usize;
    /// Rows of a tile two registers wide, so that its sums, a row of the right operand and one
    /// value of the left one fit into the register file.
    const ROWS: usize;

    unsafe fn splat(value: Self::Element) -> Self;
    unsafe fn load(from: *const Self::Element) -> Self;
    unsafe fn store(self, to: *mut Self::Element);
    /// `self + a·b`, fused on every level that has the instruction.
    unsafe fn add_product(self, a: Self, b: Self) -> Self;
    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self - other`.
    unsafe fn sub(self, other: Self) -> Self;
    /// Each element or `limit`, whichever is larger; NaN stays.
    unsafe fn at_least(self, limit: Self) -> Self;
    /// Each element or `limit`, whichever is smaller; NaN stays.
    unsafe fn at_most(self, limit: Self) -> Self;
}

/// The registers that hold a type on each level.
pub trait Registers: Copy {
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    type Avx512: Vector<Element = Self>;
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    type Avx2: Vector<Element = Self>;
    #[doc(hidden)]
    type Portable: Vector<Element = Self>;
}

impl Registers for f32 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = core::arch::x86_64::__m512;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = core::arch::x86_64::__m256;
    type Portable = [f32; 4];
}

impl Registers for f64 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = core::arch::x86_64::__m512d;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = core::arch::x86_64::__m256d;
    type Portable = [f64; 2];
}

/// A loop written in registers, to be compiled once per level.
pub(crate) trait RegisterKernel<T> {
    type Output;

    /// # Safety
    /// To be called where `V`'s instructions are enabled; implementations add what they need.
    unsafe fn run<V: Vector<Element = T>>(self) -> Self::Output;
}

/// Runs `kernel` as compiled for [`crate::cpu_level`].
///
/// # Safety
/// What the kernel asks for beyond the instructions, which are seen to here.
#[inline]
pub(crate) unsafe fn dispatch_registers<T: Real, K: RegisterKernel<T>>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    match cpu_level() {
        // SAFETY: `cpu_level` returns a level only when the processor has it; the rest is the
        // caller's promise.
        Level::Avx512 => return unsafe { run_avx512(kernel) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { run_avx2(kernel) },
        Level::Portable => {}
    }
    // SAFETY: arrays need no instructions; the rest is the caller's promise.
    unsafe { kernel.run::<T::Portable>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn run_avx512<T: Real, K: RegisterKernel<T>>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<T::Avx512>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_avx2<T: Real, K: RegisterKernel<T>>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<T::Avx2>() }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use core::arch::x86_64::*;

    macro_rules! register {
        ($register:ty, $element:ty, $len:literal, $rows:literal,
         $splat:ident, $load:ident, $store:ident, $fmadd:ident,
         $max:ident, $min:ident, $add:ident, $sub:ident) => {
            // SAFETY: `load` and `store` are the unaligned forms and touch one register's width.
            unsafe impl Vector for $register {
                type Element = $element;
                const LEN: usize = $len;
                const ROWS: usize = $rows;

                #[inline(always)]
                unsafe fn splat(value: $element) -> Self {
                    // SAFETY: the caller runs where the instruction is present.
                    unsafe { $splat(value) }
                }
                #[inline(always)]
                unsafe fn load(from: *const $element) -> Self {
                    // SAFETY: as above, and the caller vouches for `LEN` readable elements.
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $element) {
                    // SAFETY: as above, and the caller vouches for `LEN` writable elements.
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn add_product(self, a: Self, b: Self) -> Self {
                    // SAFETY: the caller runs where the instruction is present.
                    unsafe { $fmadd(a, b, self) }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    // SAFETY: the caller runs where the instruction is present.
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn sub(self, other: Self) -> Self {
                    // SAFETY: the caller runs where the instruction is present.
                    unsafe { $sub(self, other) }
                }
                // Both instructions return their second operand if either is NaN.
                #[inline(always)]
                unsafe fn at_least(self, limit: Self) -> Self {
                    // SAFETY: the caller runs where the instruction is present.
                    unsafe { $max(limit, self) }
                }
                #[inline(always)]
                unsafe fn at_most(self, limit: Self) -> Self {
                    // SAFETY: the caller runs where the instruction is present.
                    unsafe { $min(limit, self) }
                }
            }
        };
    }

    register!(
        __m512,
        f32,
        16,
        12,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_max_ps,
        _mm512_min_ps,
        _mm512_add_ps,
        _mm512_sub_ps
    );
    register!(
        __m512d,
        f64,
        8,
        12,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_max_pd,
        _mm512_min_pd,
        _mm512_add_pd,
        _mm512_sub_pd
    );
    register!(
        __m256,
        f32,
        8,
        6,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        _mm256_max_ps,
        _mm256_min_ps,
        _mm256_add_ps,
        _mm256_sub_ps
    );
    register!(
        __m256d,
        f64,
        4,
        6,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_max_pd,
        _mm256_min_pd,
        _mm256_add_pd,
        _mm256_sub_pd
    );
}

macro_rules! array {
    ($element:ty, $len:literal) => {
        // SAFETY: plain arrays need no instructions; reads and writes are of `LEN` elements.
        unsafe impl Vector for [$element; $len] {
            type Element = $element;
            const LEN: usize = $len;
            // x86-64 alone has 16 registers, AArch64 has 32.
            const ROWS: usize = if cfg!(target_arch = "aarch64") { 8 } else { 4 };

            #[inline(always)]
            unsafe fn splat(value: $element) -> Self {
                [value; $len]
            }
            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: the caller vouches for `LEN` readable elements.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: the caller vouches for `LEN` writable elements.
                unsafe { to.cast::<Self>().write_unaligned(self) }
            }
            #[inline(always)]
            unsafe fn add_product(mut self, a: Self, b: Self) -> Self {
                for i in 0..$len {
                    self[i] = if crate::level::PORTABLE_FMA {
                        a[i].mul_add(b[i], self[i])
                    } else {
                        self[i] + a[i] * b[i]
                    };
                }
                self
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] + other[i])
            }
            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] - other[i])
            }
            #[inline(always)]
            unsafe fn at_least(self, limit: Self) -> Self {
                std::array::from_fn(|i| {
                    if limit[i] > self[i] {
                        limit[i]
                    } else {
                        self[i]
                    }
                })
            }
            #[inline(always)]
            unsafe fn at_most(self, limit: Self) -> Self {
                std::array::from_fn(|i| {
                    if limit[i] < self[i] {
                        limit[i]
                    } else {
                        self[i]
                    }
                })
            }
        }
    };
}

array!(f32, 4);
array!(f64, 2);
