! SPDX-License-Identifier: BSD-3-Clause
!> plugins/fortran/metapack.f90: real and complex, both widths, counted from 0 and 1, and what goes wrong.
program test
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
    use metapack
    implicit none
    integer :: failures = 0
    integer, parameter :: colptr(6) = [1, 3, 6, 9, 9, 9], row(8) = [1, 4, 2, 4, 5, 3, 4, 5]
    real(real64), parameter :: values(8) = [4, 1, 3, 1, 1, 2, 1, -1], rhs(5) = [0, 0, 0, 6, -1]
    real(real64), parameter :: answer(3) = [29, 38, 59] / 21.0_real64

    call reals()
    call complexes()
    call wrong()
    call verdicts()
    if (failures > 0) error stop 'failed'
    print '(a)', 'ok'

contains

    subroutine holds(what, is)
        character(*), intent(in) :: what
        logical, intent(in) :: is
        if (is) return
        print '(2a)', 'does not hold: ', what
        failures = failures + 1
    end subroutine holds

    subroutine reals()
        type(metapack_solver) :: s
        real(real64) :: b(5), many(5, 2), d(5), unit(5, 5)
        complex(real64) :: sign
        integer :: p, n, z, k
        call s%analyse(5, colptr, row, values)
        call s%factorize()
        b = rhs
        call s%solve(b)
        call holds('x', maxval(abs(b(:3) - answer)) < 1e-14_real64 .and. s%backward_error < 1e-15_real64)
        call s%inertia(p, n, z)
        call holds('inertia', p == 3 .and. n == 2 .and. z == 0)
        call holds('determinant', abs(s%log_determinant(sign) - log(21.0_real64)) < 1e-14_real64)
        call holds('its sign', abs(sign - 1) < 1e-14_real64)
        call s%factorize(2 * values)
        many(:, 1) = rhs
        many(:, 2) = 2 * rhs
        call s%solve(many)
        call holds('two right-hand sides', maxval(abs(many(:3, 2) - answer)) < 1e-14_real64)
        unit = 0
        do k = 1, 5
            unit(k, k) = 1
        end do
        call s%solve(unit)
        call s%inverse_diagonal(d)
        call holds('diagonal of the inverse', maxval(abs(d - [(unit(k, k), k=1, 5)])) < 1e-14_real64)
        b = rhs
        call s%set('pivot_threshold', '0.5')
        call s%analyse(5, int(colptr, int64) - 1, row - 1, values) ! wide, from 0
        call s%factorize()
        call s%solve(b)
        call holds('from 0', maxval(abs(b(:3) - answer)) < 1e-14_real64)
        b = rhs
        call s%analyse(5, [1, 1, 1, 1, 5, 7], [1, 2, 3, 4, 2, 3], [1d0, 1d0, 1d0, 0d0, 1d0, -1d0], triangle=mpk_upper)
        call holds('upper: structurally singular', s%status == mpk_singular)
    end subroutine reals

    subroutine complexes()
        type(metapack_solver) :: s
        ! [2 i; -i 1] + [0 .; . 0]: Hermitian with (2, 1) = -i, symmetric with (2, 1) = -i
        complex(real64) :: a(3) = [(2d0, 0d0), (0d0, -1d0), (-1d0, 0d0)], b(2)
        call s%analyse(2, [1, 3, 4], [1, 2, 2], a, kind=mpk_hermitian)
        call s%factorize()
        b = [(1d0, 0d0), (0d0, 1d0)]
        call s%solve(b)
        call holds('Hermitian', abs(2 * b(1) + (0, 1) * b(2) - 1) + abs(-(0, 1) * b(1) - b(2) - (0, 1)) < 1e-14_real64)
        call s%analyse(2, [1, 3, 4], [1, 2, 2], a, kind=mpk_symmetric)
        call s%factorize(2 * a)
        b = [(1d0, 0d0), (0d0, 1d0)]
        call s%solve(b)
        b = 2 * b
        call holds('complex symmetric', abs(2 * b(1) - (0, 1) * b(2) - 1) + abs(-(0, 1) * b(1) - b(2) - (0, 1)) < 1e-14_real64)
    end subroutine complexes

    subroutine wrong()
        type(metapack_solver) :: s
        real(real64) :: b(5), short(3), nan(8)
        complex(real64) :: z(5)
        integer :: stat
        b = rhs
        short = 1
        z = rhs
        call s%factorize(stat)
        call holds('factorize before analyse', stat < 0)
        call s%analyse(5, colptr, row(:7), values, stat=stat)
        call holds('rows and values differ in number', stat < 0)
        call s%analyse(4, colptr, row, values, stat=stat)
        call holds('n and colptr differ', stat < 0)
        call s%analyse(5, colptr, row + 5, values, stat=stat)
        call holds('a row out of range', stat < 0)
        call holds('its text', len(s%message()) > 0)
        call s%analyse(5, colptr, row, values)
        call s%solve(b, stat)
        call holds('solve before factorize', stat < 0)
        call s%factorize()
        call s%solve(short, stat)
        call holds('a short b', stat < 0)
        call s%solve(z, stat)
        call holds('complex b for a real matrix', stat < 0)
        call s%factorize(values(:7), stat)
        call holds('too few values', stat < 0)
        nan = values
        nan(3) = ieee_value(nan(3), ieee_quiet_nan)
        call s%factorize(nan, stat)
        call holds('NaN', stat < 0)
        call holds('its text', len(s%message()) > 0)
        b = rhs
        call s%solve(b)
        call holds('the old factor is as it was', maxval(abs(b(:3) - answer)) < 1e-14_real64)
        call s%set('pivot_treshold', '0.1', stat)
        call holds('no such option', stat < 0)
        call holds('its text', len(s%message()) > 0)
    end subroutine wrong

    subroutine verdicts()
        type(metapack_solver) :: s
        real(real64) :: b(2)
        integer :: p, n, z
        call s%analyse(2, [1, 3, 4], [1, 2, 2], [1d0, 1d0, 1d0])
        call s%factorize()
        call s%inertia(p, n, z)
        call holds('singular', s%status == 0 .and. z == 1 .and. p == 1)
        b = 1
        call s%solve(b)
        call holds('consistent', abs(sum(b) - 1) < 1e-14_real64)
        call s%clear()
        call holds('cleared', s%n == 0)
        call s%analyse(0, [1], [integer ::], [real(real64) ::])
        call s%factorize()
        call s%solve(b(:0))
        call holds('order 0', s%status == 0)
    end subroutine verdicts
end program test
