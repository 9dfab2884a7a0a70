// Sources, from the spec to members with addresses.
#include <criterion/criterion.h>

#include "hostfile/source.h"

Test(source, placeholder)
{
}
