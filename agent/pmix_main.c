// muster-pmixd: the PMIx server of one attempt in one pod.
int main(void)
{
    return 125;
}
