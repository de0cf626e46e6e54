! SPDX-License-Identifier: BSD-3-Clause
!> Minimise 2 x^2 + 1.5 y^2 + z^2 with x + y + z = 6 and y - z = -1, then with another weight of x:
!>     gfortran metapack.f90 solve.f90 -o solve $(pkg-config --cflags --libs metapack) && ./solve
program solve
    use metapack
    implicit none
    ! [H A^T; A 0]: its lower triangle by columns, from 1
    integer :: colptr(6) = [1, 3, 6, 9, 9, 9], row(8) = [1, 4, 2, 4, 5, 3, 4, 5], positive, negative, zero
    double precision :: values(8) = [4, 1, 3, 1, 1, 2, 1, -1], b(5) = [0, 0, 0, 6, -1]
    type(metapack_solver) :: k

    call k%analyse(5, colptr, row, values)
    call k%factorize()
    call k%solve(b)
    call k%inertia(positive, negative, zero)
    print '(3f8.4,a,i0,a,i0,a)', b(:3), ', inertia ', positive, '+ ', negative, '-'
    if (k%status /= mpk_ok .or. negative /= 2) error stop 'this is no minimum'

    values(1) = 40 ! the same pattern: no new analysis
    b = [0, 0, 0, 6, -1]
    call k%factorize(values)
    call k%solve(b)
    print '(3f8.4)', b(:3)
end program solve
